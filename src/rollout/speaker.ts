import { defined } from "../defined.ts";
import { policyWeights, type Sample, type SampleStop } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { joinTokens } from "../policy/join-tokens.ts";
import type { Renderer } from "../policy/renderer.ts";
import type { Truncation } from "../schema/trajectory.ts";
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

/** Whoever takes the turns of a rollout: an engine, an expert, a person. `Scene` is what they may look at, such as an episode. */
export type Speaker<Scene = unknown> = (request: SpeakRequest, scene: Scene) => Promise<Utterance>;

export function engineSpeaker({ engine, renderer, weights }: Policy, options: RolloutOptions): Speaker {
  const { temperature = 1, topP, topK } = options;
  return async ({ prompt, maxTokens, seed, role, stopStrings, forced, signal }) => {
    const sample = await engine.sample(
      {
        tokens: forced.length === 0 ? prompt : joinTokens(prompt, forced),
        maxTokens,
        seed,
        temperature,
        stopTokens: renderer.stopTokens,
        rollout: `${options.id}/${role}`,
        weights: weights?.[role] ?? policyWeights,
        ...defined({ stopStrings: stopStrings.length === 0 ? undefined : stopStrings, topP, topK }),
      },
      signal,
    );
    checkSample(sample);
    return spoken(forced, { ...sample, logprobs: behaviourLogprobs(sample, temperature) });
  };
}

/** Log-probabilities of the distribution that was sampled from; greedy ones are those at temperature 1. */
export function behaviourLogprobs({ logprobs, cutLogprobs }: Sample, temperature: number): Float32Array {
  return temperature === 0 ? logprobs : (cutLogprobs ?? logprobs);
}

/** What top-p and top-k leave of a distribution; undefined where nothing is cut. */
export function truncationOf({ temperature = 1, topP = 1, topK }: TruncationOptions): Truncation | undefined {
  if (temperature === 0 || (topP >= 1 && topK === undefined)) return undefined;
  return defined({ topP: topP < 1 ? topP : undefined, topK });
}

type TruncationOptions = {
  readonly [Name in "temperature" | "topP" | "topK"]?: RolloutOptions[Name] | undefined;
};

/** A sample that cannot be recorded must end its own rollout, not the run. */
export function checkSample({ tokens, logprobs, versions }: Sample): void {
  const isAligned = tokens.length > 0 && logprobs.length === tokens.length && versions.length === tokens.length;
  const wrong = logprobs.findIndex((logprob) => !Number.isFinite(logprob));
  if (isAligned && wrong < 0) return;
  throw new LudusError("bad-sample", {
    got: isAligned
      ? `log-probability ${logprobs[wrong]} of token ${wrong}`
      : `${tokens.length} tokens, ${logprobs.length} log-probabilities, ${versions.length} versions`,
    expected: "one token or more, each with a finite log-probability and a version",
    hint: "Weights that are not finite any more give such samples: look at the gradient norm before.",
  });
}

function spoken(forced: Int32Array, { tokens, logprobs, versions, stop }: Sample): Utterance {
  // rounding may leave a certain token a hair above 0
  const certain = logprobs.some((logprob) => logprob > 0) ? logprobs.map((logprob) => Math.min(logprob, 0)) : logprobs;
  const n = forced.length;
  const T = n + tokens.length;
  const mask = new Uint8Array(T).fill(1, n);
  if (n === 0) return { tokens, mask, logprobs: certain, versions, stop };
  const padded = { logprobs: new Float32Array(T), versions: new Int32Array(T).fill(-1) };
  padded.logprobs.set(certain, n);
  padded.versions.set(versions, n);
  return { tokens: joinTokens(forced, tokens), mask, ...padded, stop };
}

/** Says given words as if it had sampled them with certainty: demonstrations, people, tests. Limits cut them short too. */
export function scriptedSpeaker<Scene>(
  renderer: Renderer,
  words: (scene: Scene, request: SpeakRequest) => string | Promise<string>,
): Speaker<Scene> {
  return async (request, scene) => {
    const all = renderer.say(await words(scene, request));
    const tokens = all.subarray(0, request.maxTokens);
    const T = tokens.length;
    return {
      tokens,
      mask: new Uint8Array(T).fill(1),
      logprobs: new Float32Array(T),
      versions: new Int32Array(T),
      stop: T === all.length ? "stop-token" : "max-tokens",
    };
  };
}
