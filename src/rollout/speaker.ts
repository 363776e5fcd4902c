import { policyWeights, type SampleStop } from "../engine/engine.ts";
import type { Episode } from "../env/episode.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { SaidSegment } from "./context.ts";
import type { Policy, RolloutOptions } from "./rollout.ts";

/** What was said in a turn, and how it came to an end. */
export interface Utterance extends Omit<SaidSegment, "kind" | "turn"> {
  readonly stop: SampleStop;
}

export interface SpeakRequest {
  readonly prompt: Int32Array;
  readonly maxTokens: number;
  readonly seed: number;
  readonly role: string;
  readonly stopStrings: readonly string[];
  /** Tokens the turn must begin with: not sampled, so not learned from. */
  readonly forced: Int32Array;
  readonly signal: AbortSignal;
}

/** Whoever takes the turns of a rollout: an engine, an expert, a person. */
export type Speaker = (request: SpeakRequest, episode: Episode) => Promise<Utterance>;

export function engineSpeaker({ engine, renderer, weights }: Policy, options: RolloutOptions): Speaker {
  const { temperature = 1, topP, topK } = options;
  return async ({ prompt, maxTokens, seed, role, stopStrings, forced, signal }) => {
    const sample = await engine.sample(
      {
        tokens: forced.length === 0 ? prompt : joined(prompt, forced),
        ...{ maxTokens, seed, temperature, stopTokens: renderer.stopTokens },
        rollout: `${options.id}/${role}`,
        weights: weights?.[role] ?? policyWeights,
        ...(stopStrings.length === 0 ? {} : { stopStrings }),
        ...(topP === undefined ? {} : { topP }),
        ...(topK === undefined ? {} : { topK }),
      },
      signal,
    );
    const n = forced.length;
    const T = n + sample.tokens.length;
    return {
      tokens: joined(forced, sample.tokens),
      mask: new Uint8Array(T).fill(1, n),
      logprobs: Float32Array.from({ length: T }, (_, t) => (t < n ? 0 : Math.min(sample.logprobs[t - n]!, 0))),
      versions: Int32Array.from({ length: T }, (_, t) => (t < n ? -1 : sample.versions[t - n]!)),
      stop: sample.stop,
    };
  };
}

/** Says given words as if it had sampled them with certainty: demonstrations, people, tests. */
export function scriptedSpeaker(
  renderer: Renderer,
  words: (episode: Episode, request: SpeakRequest) => string | Promise<string>,
): Speaker {
  return async (request, episode) => {
    const tokens = renderer.say(await words(episode, request));
    const T = tokens.length;
    return {
      tokens,
      mask: new Uint8Array(T).fill(1),
      logprobs: new Float32Array(T),
      versions: new Int32Array(T),
      stop: "stop-token",
    };
  };
}

function joined(a: Int32Array, b: Int32Array): Int32Array {
  const all = new Int32Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}
