import { LudusError } from "../errors.ts";
import { type RenderChatOptions, renderChat } from "./chat-template.ts";
import type { TextRange, Tokenizer } from "./tokenizer.ts";

export interface EncodeChatOptions extends Omit<RenderChatOptions, "template" | "specialTokens"> {
  tokenizer: Tokenizer;
  /** The tokenizer's own by default. */
  template?: string;
}

/**
 * A conversation as tokens. The template's control tokens are control tokens; the same text inside a message or a tool is
 * ordinary text, so nothing that was read can end a turn. In an assistant's message markup stays markup: `<think>` and
 * `<tool_call>` are its own to write, turn tokens are not.
 */
export function encodeChat({ tokenizer, ...options }: EncodeChatOptions): Int32Array {
  const template = options.template ?? tokenizer.chatTemplate;
  if (template === undefined) {
    throw new LudusError("template-missing", {
      got: "a tokenizer without a chat template",
      expected: "one, or template in the options",
      hint: "defaultChatTemplate fits tokenizers made by byteTokenizer and trainBpe.",
    });
  }
  const texts = [...tokenizer.controlTokens.keys()];
  const turnTexts = texts.filter((text) => tokenizer.decode([tokenizer.controlTokens.get(text)!]) === "");
  const marks = unusedMarks(JSON.stringify([options.messages, options.tools ?? [], template]));
  const marked = renderChat({
    ...options,
    template,
    specialTokens: tokenizer.specialTokens,
    messages: options.messages.map((message) => mark(message, message.role === "assistant" ? turnTexts : texts, marks)),
    ...(options.tools === undefined ? {} : { tools: mark(options.tools, texts, marks) }),
  });
  const { text, ranges } = unmark(marked, texts, marks);
  return tokenizer.encode(text, { special: true, plain: ranges });
}

interface Marks {
  readonly open: string;
  readonly close: string;
}

/** Two private-use characters that nothing to be rendered contains. */
function unusedMarks(json: string): Marks {
  const free: string[] = [];
  for (let code = 0xf0000; free.length < 2; code++) {
    const character = String.fromCodePoint(code);
    if (!json.includes(character)) free.push(character);
  }
  return { open: free[0]!, close: free[1]! };
}

/** Puts every control text in the strings of a value between marks. */
function mark<Value>(value: Value, texts: readonly string[], marks: Marks): Value {
  if (texts.length === 0) return value;
  const pattern = new RegExp(alternatives(texts), "gu");
  const visit = (part: unknown): unknown => {
    if (typeof part === "string") return part.replace(pattern, (text) => marks.open + text + marks.close);
    if (Array.isArray(part)) return part.map(visit);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, field]) => [key, visit(field)]));
  };
  return visit(value) as Value;
}

/** Takes the marks out, and tells where they were. One that a template tore off still keeps the text beside it apart. */
function unmark(
  marked: string,
  texts: readonly string[],
  { open, close }: Marks,
): { text: string; ranges: TextRange[] } {
  const ranges: TextRange[] = [];
  let text = "";
  let end = 0;
  const control = texts.length === 0 ? "" : `${open}(${alternatives(texts)})${close}|`;
  for (const match of marked.matchAll(new RegExp(`${control}[${open}${close}]`, "gu"))) {
    text += marked.slice(end, match.index);
    end = match.index + match[0].length;
    ranges.push({ start: text.length, end: text.length + (match[1]?.length ?? 0) });
    text += match[1] ?? "";
  }
  return { text: text + marked.slice(end), ranges };
}

function alternatives(texts: readonly string[]): string {
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
}
