import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { RenderChatOptions } from "./chat-template.ts";
import { renderGuarded } from "./guarded-chat.ts";
import type { Tokenizer } from "./tokenizer.ts";

export interface EncodeChatOptions extends Omit<RenderChatOptions, "template" | "specialTokens"> {
  tokenizer: Tokenizer;
  /** The tokenizer's own by default. */
  template?: string;
}

const knownEncodeChatOptions: KnownOptions<EncodeChatOptions> = {
  tokenizer: true,
  template: true,
  messages: true,
  tools: true,
  addGenerationPrompt: true,
  now: true,
  variables: true,
};

/**
 * A conversation as tokens. The template's control tokens are control tokens; the same text inside a message or a tool is
 * ordinary text, so nothing that was read can end a turn. In the messages of assistant and system markup stays markup: `<think>`
 * and `<tool_call>` are theirs to write, turn tokens are not.
 */
export function encodeChat(options: EncodeChatOptions): Int32Array {
  refuseUnknownOptions("encodeChat", options, knownEncodeChatOptions);
  const { tokenizer, ...chat } = options;
  const template = chatTemplateOf(tokenizer, options.template);
  const { text, ranges } = renderGuarded(tokenizer, { ...chat, template });
  return tokenizer.encode(text, { special: true, plain: ranges });
}

/** The template asked for, or the tokenizer's own. */
export function chatTemplateOf(tokenizer: Tokenizer, template = tokenizer.chatTemplate): string {
  if (template !== undefined) return template;
  throw new LudusError("template-missing", {
    got: "a tokenizer without a chat template",
    expected: "a tokenizer with one, or template in the options",
    hint: "defaultChatTemplate fits tokenizers made by byteTokenizer and trainBpe.",
  });
}
