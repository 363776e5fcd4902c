import { createRng } from "../../random.ts";
import type { Message, ToolCall, ToolSpec } from "../../schema/message.ts";
import { byteTokenizer } from "../byte-tokenizer.ts";
import type { CallFormat } from "../call-format.ts";
import { chatRenderer } from "../chat-renderer.ts";
import type { ChatMessage } from "../chat-template.ts";
import { compactRenderer } from "../compact-renderer.ts";
import { formats } from "../formats/call-formats.ts";
import { joinTokens } from "../join-tokens.ts";
import type { Renderer } from "../renderer.ts";
import { trainBpe } from "../train-bpe.ts";

/** ChatML without a word of tools: what they answer must become the user's words. */
const plainTemplate = `{%- for message in messages %}
    {%- if message.role not in ['system', 'user', 'assistant'] %}
        {{- raise_exception('no such role') }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
`;

const bytes = byteTokenizer();
const bpe = trainBpe({ texts: ["look for green tea in the attic", "book a table for two"], vocabularySize: 320 });
const without = byteTokenizer({ chatTemplate: plainTemplate, markup: [] });

export const trainedRenderers: readonly [string, Renderer, typeof bytes][] = [
  ["compact, bytes", compactRenderer({ tokenizer: bytes }), bytes],
  ["compact, BPE", compactRenderer({ tokenizer: bpe }), bpe],
  ["chat", chatRenderer({ tokenizer: bpe }), bpe],
  ["chat without tool turns", chatRenderer({ tokenizer: without }), without],
];

export const trainedFormats: readonly CallFormat[] = [
  formats.plain(),
  formats.hermes(),
  formats.hermes({ describeTools: true }),
  formats.react(),
  formats.thinkAnswer(),
  formats.llama(),
  formats.search(),
  formats.compact(),
];

const search: ToolSpec = {
  name: "search",
  description: 'Finds "pages" — naïve',
  parameters: { type: "object", properties: { query: { type: "string" } }, required: ["query"] },
};
const book: ToolSpec = {
  name: "book",
  description: "",
  parameters: {
    type: "object",
    properties: {
      place: { type: "string" },
      seats: { type: "integer" },
      outside: { type: "boolean" },
      wishes: { type: "array", items: { type: "string" } },
      when: { enum: ["noon", "night"] },
      note: { type: "string" },
    },
    required: ["place"],
  },
};

export interface TrainedConversation {
  /** As `apply_chat_template` is given them. */
  readonly messages: readonly ChatMessage[];
  readonly tools: readonly unknown[];
  /** The tokens that a rollout has. */
  readonly tokens: Int32Array;
}

/** Conversations with tool calls as the rollout of an episode renders them, and as others tell them. */
export function trainedConversations(renderer: Renderer, format: CallFormat, count: number): TrainedConversation[] {
  const rng = createRng(7);
  const among = <Value>(values: readonly Value[]): Value => values[rng.integer(values.length)]!;
  // a template that tells tools itself does not escape tags in arguments
  const tags = renderer.chatTemplate!(format).startsWith("{#- ludus") ? ["<think>"] : [];
  const text = () => among(["tea", "green tea", "two\nlines", 'a "quoted" word', "_", "naïve 東京", "", " x", ...tags]);
  const argumentsOf: Readonly<Record<string, () => ToolCall["arguments"]>> = {
    search: () => ({ query: format.name === "search" ? among(["tea", "green tea"]) : text() }),
    book: () => ({
      place: text(),
      ...among([{}, { seats: rng.integer(5) - 2 }]),
      ...among([{}, { outside: rng.next() < 0.5 }]),
      ...among([{}, { wishes: ["a", "b c"] }]),
      ...among([{}, { when: "noon" }, { note: text() }, { other: 1 }]),
    }),
  };
  const canCall = !["plain", "think-answer"].includes(format.name);
  const tools = canCall ? (format.name === "search" ? [search] : [search, book]) : [];
  const told = ({ ...message }: Message): ChatMessage => message;
  return Array.from({ length: count }, () => {
    const instructions = format.describe(tools);
    const opened: Message[] = [{ role: "user", content: among(["Find tea.", "Two\nlines, please: é"]) }];
    const system = among(["", "You help."]);
    const content = [system, instructions].filter((part) => part !== "").join("\n\n");
    const start: Message[] = content === "" ? opened : [{ role: "system", content }, ...opened];
    const parts = [renderer.start(start, instructions === "" ? tools : [])];
    const messages = (system === "" ? opened : [{ role: "system" as const, content: system }, ...opened]).map(told);
    for (let turn = rng.integer(4); turn > 0; turn--) {
      const calls = canCall ? [among(tools)].map(({ name }) => ({ name, arguments: argumentsOf[name]() })) : [];
      if (["hermes", "compact"].includes(format.name) && rng.next() < 0.4) calls.push(...calls);
      const words = format.write(canCall ? { calls } : { answer: "tea" }, tools);
      parts.push(renderer.say(words));
      const asCalls = canCall && rng.next() < 0.7;
      const toolCalls = calls.map((call) => ({ type: "function", function: call }));
      messages.push(
        asCalls ? { role: "assistant", content: "", tool_calls: toolCalls } : { role: "assistant", content: words },
      );
      const answers: Message[] = canCall
        ? calls.map(({ name }) => ({ role: "tool", name, content: among(["found", "no\nsuch page", "7"]) }))
        : [{ role: "user", content: among(["more", "again"]) }];
      parts.push(renderer.next(answers, { ended: true }));
      messages.push(...answers.map(told));
    }
    return {
      messages,
      tools: tools.map((tool) => ({ type: "function", function: tool })),
      tokens: joinTokens(...parts),
    };
  });
}
