import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import {
  linearLengthPenalty,
  type SoftOverlongOptions,
  sigmoidLengthPenalty,
  softOverlongPenalty,
} from "../scorer/length-penalty.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

/** Of what the policy wrote: sampled tokens, turns or characters. */
export type LengthUnit = "tokens" | "turns" | "characters";

export function lengthOf(
  { turns, sampledTokens }: Pick<ScoredEpisode, "turns" | "sampledTokens">,
  unit: LengthUnit,
): number {
  switch (unit) {
    case "tokens":
      return sampledTokens;
    case "turns":
      return turns.length;
    case "characters":
      return turns.reduce((sum, { text }) => sum + text.length, 0);
    default:
      return unit satisfies never;
  }
}

export interface LinearLengthOptions {
  unit: LengthUnit;
  target: number;
  /** For every token, turn or character over the target. */
  weight: number;
  /** It goes no lower. Ours, so that a long episode cannot outweigh its outcome. */
  floor?: number;
}

const knownLinearLengthOptions: KnownOptions<LinearLengthOptions> = {
  unit: true,
  target: true,
  weight: true,
  floor: true,
};

/** −weight · max(0, length − target), to be added to an outcome. */
export function linearLength<Data, State = unknown>(options: LinearLengthOptions): Reward<Data, State> {
  refuseUnknownOptions("linearLength", options, knownLinearLengthOptions);
  const { unit, floor = -1 } = options;
  return makeReward(
    (episode) => makeScore({ length: Math.max(floor, linearLengthPenalty(0, lengthOf(episode, unit), options)) }),
    { range: [floor, 0] },
  );
}

export interface SigmoidLengthOptions {
  unit: LengthUnit;
  /** Half of the reward is left here. */
  target: number;
  temperature: number;
}

const knownSigmoidLengthOptions: KnownOptions<SigmoidLengthOptions> = { unit: true, target: true, temperature: true };

/** A reward that is never negative, times σ(−(length − target) / temperature). What that takes is the part `length`. */
export function sigmoidLength<Data, State = unknown>(
  reward: Reward<Data, State>,
  options: SigmoidLengthOptions,
): Reward<Data, State> {
  refuseUnknownOptions("sigmoidLength", options, knownSigmoidLengthOptions);
  const { unit, ...shape } = options;
  const [low, high] = rangeOf(reward);
  if (low < 0) {
    throw new LudusError("reward-negative", {
      got: `a reward from ${low} to ${high}`,
      expected: "one that is never negative",
      hint: "A long failure would lose less than a short one. Use linearLength.",
    });
  }
  return makeReward(
    async (episode) => {
      const { total, parts, success } = await reward(episode);
      const left = sigmoidLengthPenalty(total, lengthOf(episode, unit), shape);
      return { total: left, parts: { ...parts, length: (parts.length ?? 0) + left - total }, success };
    },
    { range: [0, high], ...factsOf(reward) },
  );
}

type SoftOverlongRewardOptions = { unit?: LengthUnit } & Pick<SoftOverlongOptions, "maxLength" | "cacheLength"> &
  Partial<Pick<SoftOverlongOptions, "factor">>;

const knownSoftOverlongOptions: KnownOptions<SoftOverlongRewardOptions> = {
  unit: true,
  maxLength: true,
  cacheLength: true,
  factor: true,
};

/** DAPO's soft overlong punishment (arXiv 2503.14476), of sampled tokens unless `unit` says otherwise. */
export function softOverlong<Data, State = unknown>(options: SoftOverlongRewardOptions): Reward<Data, State> {
  refuseUnknownOptions("softOverlong", options, knownSoftOverlongOptions);
  const { unit = "tokens", ...shape } = options;
  return makeReward((episode) => makeScore({ length: softOverlongPenalty(lengthOf(episode, unit), shape) }), {
    range: [-(shape.factor ?? 1), 0],
  });
}
