import { defined } from "../../defined.ts";
import { type Alternatives, policyWeights, type SampleStop } from "../../engine/engine.ts";
import { StopStringMatcher } from "../../engine/stop-strings.ts";
import { joinTokens } from "../../policy/join-tokens.ts";
import { behaviourLogprobs } from "../../rollout/speaker.ts";
import type { ChatTurn } from "./chat-turn.ts";
import type { ServedModel } from "./served-model.ts";

export interface SampleAnswerOptions {
  readonly signal: AbortSignal;
  /** Names a cache in the engine. */
  readonly cache?: string | undefined;
  /** Is given all tokens so far, again and again. */
  readonly onTokens?: ((tokens: Int32Array) => Promise<void>) | undefined;
}

const sliceTokens = 8;

/** What was sampled, and how it ended. */
export interface Sampled {
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
  /** Of the distribution that was sampled from. */
  readonly behaviourLogprobs: Float32Array;
  readonly versions: Int32Array;
  readonly alternatives: Alternatives | undefined;
  readonly stop: SampleStop;
}

/**
 * Samples until something ends it: in one go, or in small slices where stop strings are looked for or somebody listens. The
 * result is the same.
 */
export async function sampleAnswer(
  model: ServedModel,
  { sampling, tools }: ChatTurn,
  prompt: Int32Array,
  { signal, cache, onTokens }: SampleAnswerOptions,
): Promise<Sampled> {
  const { engine, renderer, tokenizer, format } = model;
  const room = engine.info.contextLength - prompt.length;
  const limit = Math.min(sampling.maxTokens ?? model.maxTokens ?? room, room);
  const stops = [...sampling.stop, ...(tools.length === 0 ? [] : format.stopStrings)];
  const matcher = new StopStringMatcher(stops, (token) => tokenizer.tokenBytes(token));
  const slices: Sampled[] = [];
  for (let count = 0; count < limit; ) {
    const tokens = joinTokens(prompt, ...slices.map((slice) => slice.tokens));
    const sample = await engine.sample(
      {
        tokens,
        seed: sampling.seed,
        temperature: sampling.temperature,
        stopTokens: renderer.stopTokens,
        // with stop strings too: they are looked for here, over the borders of slices
        maxTokens: Math.min(limit - count, onTokens === undefined && stops.length === 0 ? limit : sliceTokens),
        ...defined({ topP: sampling.topP, topK: sampling.topK }),
        weights: model.weights?.agent ?? policyWeights,
        ...defined({ alternatives: sampling.alternatives === 0 ? undefined : sampling.alternatives, rollout: cache }),
      },
      signal,
    );
    const end = stops.length === 0 ? -1 : sample.tokens.findIndex((token) => matcher.push(token));
    const stopped = end >= 0 && !(sample.stop === "stop-token" && end === sample.tokens.length - 1);
    const said = { ...sample, behaviourLogprobs: behaviourLogprobs(sample, sampling.temperature) };
    slices.push(firstOf(said, stopped ? end + 1 : sample.tokens.length, stopped ? "stop-string" : sample.stop));
    count += slices.at(-1)!.tokens.length;
    await onTokens?.(joinTokens(...slices.map((slice) => slice.tokens)));
    if (slices.at(-1)!.stop !== "max-tokens") break;
  }
  return joined(slices);
}

function firstOf(
  sample: Omit<Sampled, "alternatives"> & { readonly alternatives?: Alternatives },
  n: number,
  stop: SampleStop,
): Sampled {
  const { alternatives } = sample;
  const count = alternatives?.count ?? 0;
  return {
    tokens: sample.tokens.slice(0, n),
    logprobs: sample.logprobs.slice(0, n),
    behaviourLogprobs: sample.behaviourLogprobs.slice(0, n),
    versions: sample.versions.slice(0, n),
    stop,
    alternatives:
      alternatives === undefined
        ? undefined
        : {
            count,
            tokens: alternatives.tokens.slice(0, n * count),
            logprobs: alternatives.logprobs.slice(0, n * count),
          },
  };
}

function joined(slices: readonly Sampled[]): Sampled {
  const floats = (parts: readonly Float32Array[]) => Float32Array.from(parts.flatMap((part) => [...part]));
  const alternatives = slices.flatMap((slice) => slice.alternatives ?? []);
  return {
    tokens: joinTokens(...slices.map(({ tokens }) => tokens)),
    logprobs: floats(slices.map(({ logprobs }) => logprobs)),
    behaviourLogprobs: floats(slices.map((slice) => slice.behaviourLogprobs)),
    versions: joinTokens(...slices.map(({ versions }) => versions)),
    stop: slices.at(-1)?.stop ?? "max-tokens",
    alternatives:
      alternatives.length === 0
        ? undefined
        : {
            count: alternatives[0].count,
            tokens: joinTokens(...alternatives.map(({ tokens }) => tokens)),
            logprobs: floats(alternatives.map(({ logprobs }) => logprobs)),
          },
  };
}
