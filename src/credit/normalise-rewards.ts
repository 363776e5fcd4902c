import { meanOf, stdOf } from "./statistics.ts";

/** RAGEN's methods; `asym-clip` is `mean-std` cut to -1..3, so that a rare success counts for more than a rare failure. */
export type NormaliseMethod = "identity" | "mean" | "mean-std" | "asym-clip";

/** `(reward - shift) * scale`, cut to `low..high`. */
export interface Normaliser {
  readonly shift: number;
  readonly scale: number;
  readonly low: number;
  readonly high: number;
}

/** Rewards that are all equal become 0 with a deviation-based method. */
export function fitNormaliser(rewards: ArrayLike<number>, method: NormaliseMethod): Normaliser {
  const unbounded = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  const deviation = stdOf(rewards);
  const scale = deviation > 1e-6 ? 1 / (deviation + 1e-6) : 0;
  switch (method) {
    case "identity":
      return { shift: 0, scale: 1, ...unbounded };
    case "mean":
      return { shift: meanOf(rewards), scale: 1, ...unbounded };
    case "mean-std":
      return { shift: meanOf(rewards), scale, ...unbounded };
    case "asym-clip":
      return { shift: meanOf(rewards), scale, low: -1, high: 3 };
    default:
      return method satisfies never;
  }
}

export function normaliseReward(reward: number, { shift, scale, low, high }: Normaliser): number {
  return Math.min(high, Math.max(low, (reward - shift) * scale));
}
