import { LudusError } from "../errors.ts";
import { isControlToken } from "./added-tokens.ts";
import { specialToken } from "./tokenizer-config.ts";
import type { AddedTokenConfig } from "./tokenizer-json.ts";

/** The control tokens of a tokenizer we make ourselves, and which of them plays which part. */
export interface ControlTokenOptions {
  /** Tokens that shape a conversation; decoding leaves them out. */
  special?: readonly string[];
  /** Tokens that a parser wants to see, such as `<tool_call>`; decoding writes them. */
  markup?: readonly string[];
  /** Which special token ends a turn. `<|im_end|>` by default, where it is one. */
  eos?: string;
  /** Which special token fills. `<|pad|>` by default, where it is one. */
  pad?: string;
  bos?: string;
}

export const defaultSpecialTokens: readonly string[] = ["<|pad|>", "<|im_start|>", "<|im_end|>"];
export const defaultMarkupTokens: readonly string[] = [
  "<tool_call>",
  "</tool_call>",
  "<tool_response>",
  "</tool_response>",
  "<think>",
  "</think>",
];

/** The tokens as tokenizer.json lists them, with ids from `firstId` on. */
export function controlTokens(firstId: number, options: ControlTokenOptions): AddedTokenConfig[] {
  const { special = defaultSpecialTokens, markup = defaultMarkupTokens } = options;
  const texts = [...special, ...markup];
  const tokens = texts.map((text, index) => specialToken(firstId + index, text, index < special.length));
  const wrong = tokens.find(
    (token, index) => token.content.length < 2 || !isControlToken(token) || texts.indexOf(token.content) !== index,
  );
  if (wrong === undefined) return tokens;
  throw new LudusError("control-token-invalid", {
    got: `${JSON.stringify(wrong.content)} among special and markup`,
    expected: "texts of at least two characters, each once, those of markup with a sign in them",
    hint: "A plain word as markup would turn ordinary text into a control token.",
  });
}

/** `eos_token` and the like for tokenizer_config.json. */
export function roleTokens(tokens: readonly AddedTokenConfig[], options: ControlTokenOptions): Record<string, string> {
  const special = tokens.filter((token) => token.special).map((token) => token.content);
  const roles: Record<string, string> = {};
  for (const [role, named, fallback] of [
    ["bos", options.bos, undefined],
    ["eos", options.eos, "<|im_end|>"],
    ["pad", options.pad, "<|pad|>"],
  ] as const) {
    const text = named ?? fallback;
    if (text !== undefined && special.includes(text)) roles[`${role}_token`] = text;
    else if (named !== undefined) {
      throw new LudusError("special-token-unknown", {
        got: `${role} ${JSON.stringify(named)}`,
        expected: special.length === 0 ? "no role, as there are no special tokens" : `one of ${special.join(", ")}`,
        hint: "Add it to special.",
      });
    }
  }
  return roles;
}
