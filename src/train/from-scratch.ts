import { defined } from "../defined.ts";
import { embedded } from "../engine/embedded/embedded.ts";
import type { Engine } from "../engine/engine.ts";
import { base, type ModelConfig, small, tiny } from "../engine/model/model-config.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { chatRenderer } from "../policy/chat-renderer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Tokenizer } from "../policy/tokenizer.ts";
import { trainBpe } from "../policy/train-bpe.ts";
import { seedOf } from "../task/seeds.ts";
import type { MakePolicy } from "./learning-policy.ts";

export interface FromScratchOptions {
  /** About 0.3M, 0.8M or 5M parameters; or any model of the family. */
  size: "tiny" | "small" | "base" | ((vocabularySize: number) => ModelConfig);
  /** Tokens in the vocabulary: a tokenizer is made from what is said in the environment. Or "bytes", or one that is there. */
  tokenizer: number | "bytes" | Tokenizer;
  /** How a tokenizer that is made cuts text, as in `trainBpe`. `"qwen2"` for a model that is to be exported as GGUF. */
  words: "plain" | "qwen2";
  /** As few separators as can be, or a chat template as large models have it. */
  renderer: "compact" | "chat";
  /** Longest episode in tokens; by default what the environment's limits and observations seem to need. */
  contextLength?: number;
  valueHead: boolean;
  /** Processor cores; all by default. Of the embedded engine. */
  threads?: number;
  /** What computes: `embedded` by default; `torch` trains the same model with PyTorch. */
  engine?: (options: NewModel) => Promise<Engine>;
}

const knownFromScratchOptions: KnownOptions<FromScratchOptions> = {
  size: true,
  tokenizer: true,
  words: true,
  renderer: true,
  contextLength: true,
  valueHead: true,
  threads: true,
  engine: true,
};

/** What an engine needs to begin a new model. */
export interface NewModel {
  readonly model: ModelConfig;
  readonly tokenizer: Tokenizer;
  readonly valueHead: boolean;
  readonly seed: number;
}

const defaults: FromScratchOptions = {
  size: "small",
  tokenizer: 320,
  words: "plain",
  renderer: "compact",
  valueHead: false,
};
const sizes = { tiny, small, base };
const samplePlays = 64;

/** A new transformer with random weights on the embedded engine, and a tokenizer that knows the environment's words. */
export function fromScratch(options: Partial<FromScratchOptions> = {}): MakePolicy {
  refuseUnknownOptions("fromScratch", options, knownFromScratchOptions);
  const {
    size,
    tokenizer: wanted,
    words,
    renderer: kind,
    contextLength,
    valueHead,
    threads,
    engine: makeEngine,
  } = { ...defaults, ...options };
  if (typeof size !== "function") refuseOtherValue("size of fromScratch", size, Object.keys(sizes));
  if (typeof wanted === "string") refuseOtherValue("tokenizer of fromScratch", wanted, ["bytes"]);
  refuseOtherValue("renderer of fromScratch", kind, ["compact", "chat"]);
  refuseOtherValue("words of fromScratch", words, ["plain", "qwen2"]);
  return async (env, seed) => {
    const plays = await env.sampleTexts(samplePlays, seed);
    const tokenizer = makeTokenizer(wanted, words, plays.flat());
    const renderer: Renderer = kind === "chat" ? chatRenderer({ tokenizer }) : compactRenderer({ tokenizer });
    const longest = Math.max(...plays.map((texts) => tokenizer.encode(texts.join("\n")).length + 8 * texts.length));
    const room = contextLength ?? Math.ceil((longest * 1.5 + env.limits.turnTokens + 64) / 64) * 64;
    const { vocabularySize } = tokenizer;
    const made =
      typeof size === "function" ? size(vocabularySize) : sizes[size]({ vocabularySize, contextLength: room });
    // whoever loads the folder elsewhere knows then where a turn ends
    const model = made.tokens.eos.length > 0 ? made : { ...made, tokens: { ...made.tokens, eos: renderer.stopTokens } };
    const start = { model, tokenizer, valueHead, seed: seedOf(seed, "weights", 0) };
    const engine = await (makeEngine?.(start) ?? embedded({ ...start, ...defined({ threads }) }));
    return { engine, renderer, tokenizer };
  };
}

function makeTokenizer(
  wanted: FromScratchOptions["tokenizer"],
  words: FromScratchOptions["words"],
  texts: readonly string[],
): Tokenizer {
  if (wanted === "bytes") return byteTokenizer();
  if (typeof wanted !== "number") return wanted;
  return trainBpe({ texts, vocabularySize: wanted, words });
}
