import { LudusError } from "../errors.ts";
import { utf8 } from "./byte-level.ts";
import { huggingFaceTokenizers, type PackageModel } from "./huggingface.ts";
import type { ModelConfig } from "./tokenizer-json.ts";

/** The tokens of one pre-tokenized word. */
export type WordModel = (word: string) => readonly number[];

/**
 * The model of a tokenizer.json as a function of one word. Words are given to the package one by one, because it joins
 * unknown tokens across words and the Rust models do not.
 *
 * `guarded` are strings the model must not make of ordinary text: control tokens are often in its vocabulary too, and a
 * Unigram model would find `</s>` in a text that says so.
 */
export function wordModel(config: ModelConfig, guarded: ReadonlySet<string>): WordModel {
  switch (config.type) {
    case "BPE":
      return bytePairs(config, guarded);
    case "Unigram":
      return unigram(config, guarded);
    case "WordPiece": {
      const vocab = withoutKeys(config.vocab, without(guarded, config.unk_token));
      return idsOf(new huggingFaceTokenizers.WordPiece({ ...config, vocab }));
    }
    case "WordLevel": {
      const ids = new Map(Object.entries(config.vocab));
      const unknown = config.unk_token == null ? undefined : ids.get(config.unk_token);
      return (word) => [(guarded.has(word) ? undefined : ids.get(word)) ?? unknown].filter((id) => id !== undefined);
    }
    default:
      return config satisfies never;
  }
}

/** Every token string of the model's vocabulary and its id. */
export function vocabularyOf(config: ModelConfig): [string, number][] {
  return config.type === "Unigram" ? config.vocab.map(([token], id) => [token, id]) : Object.entries(config.vocab);
}

function bytePairs(config: Extract<ModelConfig, { type: "BPE" }>, guarded: ReadonlySet<string>): WordModel {
  if (config.continuing_subword_prefix) {
    throw new LudusError("tokenizer-unsupported", {
      got: `a BPE model with continuing_subword_prefix ${JSON.stringify(config.continuing_subword_prefix)}`,
      expected: "none or an empty one",
    });
  }
  const hidden = new Set([...without(guarded, config.unk_token)].filter((token) => Object.hasOwn(config.vocab, token)));
  // the package takes all of them for what the first one is
  const pairs = config.merges.map((merge) => (typeof merge === "string" ? merge.split(" ", 2) : merge));
  if (hidden.size === 0) return idsOf(new huggingFaceTokenizers.BPE({ ...config, merges: pairs }));
  const merges = pairs.filter(([left, right]) => !hidden.has(`${left}${right}`));
  return idsOf(new huggingFaceTokenizers.BPE({ ...config, vocab: withoutKeys(config.vocab, hidden), merges }));
}

function unigram(config: Extract<ModelConfig, { type: "Unigram" }>, guarded: ReadonlySet<string>): WordModel {
  // ids are positions, so a guarded piece keeps its place under a name that no well-formed text can contain
  const vocab = config.vocab.map(([token, score], id): [string, number] =>
    guarded.has(token) && id !== config.unk_id ? [`\ud800${id}`, score] : [token, score],
  );
  const model = new huggingFaceTokenizers.Unigram({ ...config, vocab });
  const fallback = config.byte_fallback ? (token: string) => byteTokens(token, model) : () => undefined;
  return (word) =>
    model([word]).flatMap((token) => {
      const known = model.tokens_to_ids.get(token);
      return known !== undefined ? [known] : (fallback(token) ?? unknownToken(model));
    });
}

function byteTokens(token: string, model: PackageModel): number[] | undefined {
  const ids = Array.from(utf8(token), (byte) =>
    model.tokens_to_ids.get(`<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`),
  );
  return ids.every((id) => id !== undefined) ? ids : undefined;
}

function idsOf(model: PackageModel): WordModel {
  return (word) =>
    model([word]).flatMap((token) => {
      const id = model.tokens_to_ids.get(token);
      return id === undefined ? unknownToken(model) : [id];
    });
}

function unknownToken(model: PackageModel): number[] {
  return model.unk_token_id == null ? [] : [model.unk_token_id];
}

function without(guarded: ReadonlySet<string>, unknown: string | null | undefined): Set<string> {
  return new Set([...guarded].filter((token) => token !== unknown));
}

function withoutKeys(vocab: Readonly<Record<string, number>>, keys: ReadonlySet<string>): Record<string, number> {
  return Object.fromEntries(Object.entries(vocab).filter(([token]) => !keys.has(token)));
}
