import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface EnsembleOptions {
  /** `min`: the worst case. `mean-variance`: mean − λ · variance, the variance over all members. */
  aggregate: "mean" | "min" | "mean-variance";
  lambda: number;
}

const knownEnsembleOptions: KnownOptions<EnsembleOptions> = { aggregate: true, lambda: true };

const defaults: EnsembleOptions = { aggregate: "mean", lambda: 1 };

/**
 * Several estimates of the same reward, combined so that they are harder to exploit (Coste et al., arXiv
 * 2310.02743). Parts: `mean`, and the penalty for their `disagreement`. Solved where more than half of the members say so.
 */
export function ensemble<Data, State = unknown>(
  members: readonly Reward<Data, State>[],
  options: Partial<EnsembleOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("ensemble", options, knownEnsembleOptions);
  const chosen = { ...defaults, ...options };
  if (members.length === 0) {
    throw new LudusError("ensemble-empty", { got: "no rewards", expected: "one reward at least" });
  }
  return makeReward(
    async (episode) => {
      const scores = await Promise.all(members.map((member) => member(episode)));
      const totals = scores.map(({ total }) => total);
      const mean = meanOf(totals);
      const solved = scores.filter(({ success }) => success).length;
      const total = aggregated(totals, chosen);
      return { total, parts: { mean, disagreement: total - mean }, success: solved > scores.length / 2 };
    },
    { range: ensembleRange(members, chosen), ...factsOf(...members) },
  );
}

/** What k scores of the same thing count as. */
export function aggregated(scores: readonly number[], { aggregate, lambda }: EnsembleOptions): number {
  const mean = meanOf(scores);
  switch (aggregate) {
    case "mean":
      return mean;
    case "min":
      return Math.min(...scores);
    case "mean-variance":
      return mean - lambda * meanOf(scores.map((score) => (score - mean) ** 2));
    default:
      return aggregate satisfies never;
  }
}

function ensembleRange(members: readonly Pick<Reward, "range">[], { aggregate, lambda }: EnsembleOptions) {
  const low = Math.min(...members.map((member) => rangeOf(member)[0]));
  const high = Math.max(...members.map((member) => rangeOf(member)[1]));
  // the variance is largest with half of the members at either end of the range
  const most = aggregate === "mean-variance" ? (lambda * (high - low) ** 2) / 4 : 0;
  return [low - most, high] as const;
}

function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
