import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import type { CallFormat } from "./call-format.ts";
import { parametersOf } from "./formats/positional-arguments.ts";
import { controlTextRanges, mayWriteMarkup, turnTextRanges, turnTokens } from "./guarded-chat.ts";
import { joinTokens } from "./join-tokens.ts";
import { ownWords } from "./own-words.ts";
import type { Renderer } from "./renderer.ts";
import type { SpecialToken, Tokenizer } from "./tokenizer.ts";
import { type CompactBodyOptions, compactBody, trainedTemplate } from "./trained-template.ts";

export interface CompactRendererOptions {
  tokenizer: Tokenizer;
  /** The control token that starts the policy's turn. `<|im_start|>` by default, else the first that is neither eos nor pad. */
  speak?: string;
  /** One line for each tool before the messages. A policy trained from scratch learns its tools anyway. */
  describeTools?: boolean;
}

const knownCompactRendererOptions: KnownOptions<CompactRendererOptions> = {
  tokenizer: true,
  speak: true,
  describeTools: true,
};

/**
 * For tiny models trained from scratch: observations are plain text, one control token starts the policy's turn, and eos, which
 * the policy samples, ends it. No roles, no template.
 *
 *     Guess my number.<|im_start|>50<|im_end|>higher<|im_start|>75<|im_end|>
 */
export function compactRenderer(options: CompactRendererOptions): Renderer {
  refuseUnknownOptions("compactRenderer", options, knownCompactRendererOptions);
  const { tokenizer, speak, describeTools = false } = options;
  const eos = eosOf(tokenizer);
  const opening = Int32Array.of(openingOf(tokenizer, eos, speak));
  const texts = { opening: tokenizer.decode(opening, { special: true }), eos: eos.text };
  const words = ownWords(tokenizer);
  const end = Int32Array.of(eos.id);
  const say = (text: string) => joinTokens(words.encode(text), end);
  const render = (messages: readonly Message[]) => {
    const parts: Int32Array[] = [];
    let read: Message[] = [];
    const flush = () => {
      parts.push(encodeRead(tokenizer, read));
      read = [];
    };
    for (const message of messages) {
      if (message.role !== "assistant") {
        read.push(message);
        continue;
      }
      flush();
      parts.push(opening, say(contentOf(message)));
    }
    flush();
    return joinTokens(...parts, opening);
  };
  return {
    stopTokens: [eos.id],
    start(messages, tools) {
      const lines: Message[] = describeTools ? tools.map((tool) => ({ role: "system", content: toolLine(tool) })) : [];
      const system = messages.findLastIndex((message) => message.role === "system") + 1;
      return render([...messages.slice(0, system), ...lines, ...messages.slice(system)]);
    },
    next: (messages, { ended }) => (ended ? render(messages) : joinTokens(end, render(messages))),
    say,
    read: (tokens) => words.decode(tokens),
    ...defined({ chatTemplate: describeTools ? undefined : (format: CallFormat) => compactTemplate(format, texts) }),
  };
}

/** Tool lines, which `describeTools` adds, no template writes: then there is none. */
function compactTemplate(format: CallFormat, texts: CompactBodyOptions): string {
  return trainedTemplate({ renderer: "compact", format, body: compactBody(texts), hasToolTurns: true });
}

/** Messages on lines of their own. Markup is a token in the system's words alone, as with a chat template. */
function encodeRead(tokenizer: Tokenizer, messages: readonly Message[]): Int32Array {
  const text = messages.map(({ content }) => content).join("\n");
  if (!messages.some(({ role }) => role === "system")) return tokenizer.encode(text);
  let start = 0;
  const plain = messages.flatMap(({ role, content }) => {
    const guarded = mayWriteMarkup(role) ? turnTextRanges(tokenizer, content) : controlTextRanges(tokenizer, content);
    const at = start;
    start += content.length + 1;
    return guarded.map((range) => ({ start: at + range.start, end: at + range.end }));
  });
  return tokenizer.encode(text, { special: true, plain });
}

function toolLine(tool: ToolSpec): string {
  const parameters = parametersOf(tool).map(({ name, kind }) => ` ${name}:${kind}`);
  return `${tool.name}${parameters.join("")}${tool.description === "" ? "" : ` - ${tool.description}`}`;
}

function contentOf(message: Message): string {
  if (message.calls === undefined || message.calls.length === 0) return message.content;
  throw new LudusError("message-unwritable", {
    got: `an assistant's message with ${message.calls.length} calls`,
    expected: "calls written in the content: there is no template to write them",
    hint: "Put format.write({ calls }, tools) into the content.",
  });
}

function eosOf({ specialTokens }: Tokenizer): SpecialToken {
  if (specialTokens.eos !== undefined) return specialTokens.eos;
  throw new LudusError("turn-end-missing", {
    got: "a tokenizer without eos",
    expected: "a tokenizer with eos: a policy must be able to end its turn",
    hint: 'byteTokenizer({ special: ["<e>"], eos: "<e>" }) has one.',
  });
}

function openingOf(tokenizer: Tokenizer, eos: SpecialToken, speak: string | undefined): number {
  const turnIds = turnTokens(tokenizer);
  const { pad } = tokenizer.specialTokens;
  const candidates = new Map(
    [...tokenizer.controlTokens].filter(([, id]) => turnIds.has(id) && id !== eos.id && id !== pad?.id),
  );
  const id = candidates.get(speak ?? "<|im_start|>") ?? (speak === undefined ? [...candidates.values()][0] : undefined);
  if (id !== undefined) return id;
  throw new LudusError("speak-token-missing", {
    got: speak === undefined ? "a tokenizer with no control token but eos and pad" : JSON.stringify(speak),
    expected:
      candidates.size === 0 ? "one more, to give the policy the word" : `one of ${[...candidates.keys()].join(", ")}`,
    hint: 'Add one to special, as in byteTokenizer({ special: ["<s>", "<e>"], eos: "<e>" }).',
  });
}
