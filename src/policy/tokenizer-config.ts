import { z } from "zod";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import type { SpecialTokenRole, SpecialTokens } from "./tokenizer.ts";
import { type AddedTokenConfig, check, type TokenizerPipeline } from "./tokenizer-json.ts";
import { vocabularyOf } from "./word-model.ts";

const TokenText = z
  .union([z.string(), z.object({ content: z.string() }).transform((token) => token.content)])
  .nullish();
const shortText = z.string().max(bounds.addedTokenChars);
const template = z.string().max(bounds.chatTemplateChars);
const flag = z.boolean().default(false);

const Config = z.object({
  bos_token: TokenText,
  eos_token: TokenText,
  pad_token: TokenText,
  unk_token: TokenText,
  sep_token: TokenText,
  cls_token: TokenText,
  mask_token: TokenText,
  added_tokens_decoder: z
    .record(
      z.string().regex(/^\d{1,9}$/, "ids as keys"),
      z.object({ content: shortText, single_word: flag, lstrip: flag, rstrip: flag, normalized: flag, special: flag }),
    )
    .default({}),
  chat_template: z.union([template, z.array(z.object({ name: z.string(), template }))]).nullish(),
  clean_up_tokenization_spaces: z.boolean().nullish(),
});

export interface TokenizerConfig {
  readonly addedTokens: readonly AddedTokenConfig[];
  readonly specialTokens: SpecialTokens;
  readonly cleanUpSpaces: boolean;
  readonly chatTemplate?: string;
}

const roles: readonly SpecialTokenRole[] = ["bos", "eos", "pad", "unk", "sep", "cls", "mask"];

/** What tokenizer_config.json adds to tokenizer.json: which token plays which part, and tokens the other file lacks. */
export function parseTokenizerConfig(raw: unknown, pipeline: TokenizerPipeline): TokenizerConfig {
  const config = check(Config, raw, "tokenizer_config.json");
  const addedTokens = [...pipeline.addedTokens];
  const known = new Set(addedTokens.map((token) => token.content));
  for (const [id, token] of Object.entries(config.added_tokens_decoder)) {
    if (!known.has(token.content)) addedTokens.push({ id: Number(id), ...token });
  }
  check(
    z.array(z.object({ id: z.int().max(bounds.vocabulary - 1) })).max(bounds.addedTokens),
    addedTokens,
    "added_tokens_decoder",
  );
  const ids = new Map([
    ...vocabularyOf(pipeline.model),
    ...addedTokens.map((token) => [token.content, token.id] as const),
  ]);
  const specialTokens: Partial<Record<SpecialTokenRole, { id: number; text: string }>> = {};
  for (const role of roles) {
    const text = config[`${role}_token`];
    if (text == null) continue;
    const id = ids.get(text) ?? unknownToken(role, text);
    specialTokens[role] = { id, text };
    // as transformers does: a token that plays a part is an added token, wherever its text came from
    if (!addedTokens.some((token) => token.content === text)) addedTokens.push(specialToken(id, text));
  }
  const chatTemplate = defaultTemplate(config.chat_template);
  return {
    addedTokens,
    specialTokens,
    cleanUpSpaces: config.clean_up_tokenization_spaces ?? false,
    ...defined({ chatTemplate }),
  };
}

/** An added token that is matched as it is written. */
export function specialToken(id: number, content: string, special = true): AddedTokenConfig {
  return { id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special };
}

function unknownToken(role: SpecialTokenRole, text: string): never {
  throw new LudusError("special-token-unknown", {
    got: `${role}_token ${JSON.stringify(text)} in tokenizer_config.json`,
    expected: "a token of tokenizer.json",
    hint: "Add it to added_tokens there, or name another token; the model has no row for a token that is in neither.",
  });
}

type NamedTemplates = string | readonly { name: string; template: string }[] | null | undefined;

function defaultTemplate(templates: NamedTemplates): string | undefined {
  if (templates == null || typeof templates === "string") return templates ?? undefined;
  return templates.find((entry) => entry.name === "default")?.template;
}
