import { LudusError } from "../errors.ts";
import type { ChatMessage, RenderChatOptions } from "./chat-template.ts";
import { type GuardedText, renderGuarded, unusedCharacters } from "./guarded-chat.ts";
import { ownWords } from "./own-words.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface ChatSuffix {
  /** What a template writes after an assistant's words: the end of the turn, the messages, and perhaps the next opening. */
  after(messages: readonly ChatMessage[], addGenerationPrompt: boolean): Int32Array;
  /** Whether the template has a place for what tools answer. */
  readonly hasToolTurns: boolean;
}

export interface ChatSuffixOptions extends Pick<RenderChatOptions, "template" | "variables" | "now"> {
  tokenizer: Tokenizer;
}

export const question: ChatMessage = { role: "user", content: "question" };
export const toolAnswer: ChatMessage = { role: "tool", name: "tool", content: "what the tool answered" };

/**
 * Finds what follows a turn by rendering a small conversation in which the assistant says only a placeholder. The result must
 * not depend on earlier messages; this is checked here, so that a template fails at construction and not in mid-episode.
 */
export function chatSuffix({ tokenizer, ...options }: ChatSuffixOptions): ChatSuffix {
  const words = ownWords(tokenizer);
  const rest = (before: readonly ChatMessage[], after: readonly ChatMessage[], addGenerationPrompt: boolean) => {
    const [mark] = unusedCharacters(JSON.stringify([before, after, options.template]), 1);
    const messages = [...before, { role: "assistant", content: mark }, ...after];
    return textAfter(mark, renderGuarded(tokenizer, { ...options, messages, addGenerationPrompt }));
  };
  const longHistory = [question, { role: "assistant", content: "answer" }, question];
  const checkSuffix = (message: ChatMessage) => {
    const [short, long] = [rest([question], [message], true).text, rest(longHistory, [message], true).text];
    if (short === long) return short;
    throw notIncremental(`${JSON.stringify(short)} after two messages, ${JSON.stringify(long)} after four`);
  };
  checkSuffix(question);
  return {
    hasToolTurns: writesToolTurns(checkSuffix),
    after(messages, addGenerationPrompt) {
      const { text, ranges } = rest([question], messages, addGenerationPrompt);
      return words.encodeRendered(text, ranges);
    },
  };
}

function textAfter(mark: string, { text, ranges }: GuardedText): GuardedText {
  const count = text.split(mark).length - 1;
  if (count !== 1) throw notIncremental(`one that writes an assistant's words ${count} times`);
  const start = text.indexOf(mark) + mark.length;
  return {
    text: text.slice(start),
    ranges: ranges.flatMap((range) =>
      range.end < start ? [] : [{ start: Math.max(0, range.start - start), end: range.end - start }],
    ),
  };
}

function writesToolTurns(render: (message: ChatMessage) => string): boolean {
  try {
    return render(toolAnswer).includes(String(toolAnswer.content));
  } catch (error) {
    if (error instanceof LudusError && (error.code === "chat-refused" || error.code === "template-failed"))
      return false;
    throw error;
  }
}

function notIncremental(got: string): LudusError {
  return new LudusError("template-not-incremental", {
    got: `a chat template that cannot be continued turn by turn: ${got}`,
    expected: "the same text after an assistant's words, whatever came before them",
    hint: "Pass another template; defaultChatTemplate is one.",
  });
}
