import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Score } from "../schema/score.ts";
import type { SandboxInfo } from "../tool/sandbox/require-level.ts";
import type { Reward, RewardRange, ScoredEpisode } from "./reward.ts";

export interface RewardFacts {
  readonly range?: RewardRange;
  readonly warnings?: readonly string[];
  readonly sandboxes?: readonly SandboxInfo[];
}

const knownRewardFacts: KnownOptions<RewardFacts> = { range: true, warnings: true, sandboxes: true };

/** Makes a reward of a function, its range and its warnings. */
export function makeReward<Data, State>(
  score: (episode: ScoredEpisode<Data, State>) => Score | Promise<Score>,
  facts: RewardFacts = {},
): Reward<Data, State> {
  refuseUnknownOptions("makeReward", facts, knownRewardFacts);
  // wrapped, so that the caller's function is not changed
  return Object.assign((episode: ScoredEpisode<Data, State>) => score(episode), facts);
}

export function rangeOf(reward: Pick<Reward, "range">): RewardRange {
  return reward.range ?? [0, 1];
}

/** The warnings of a reward, however deep in it they arose; none for anything else, such as an environment's own function. */
export function warningsOf(score: unknown): readonly string[] {
  if (typeof score !== "function" || !("warnings" in score) || !Array.isArray(score.warnings)) return [];
  return score.warnings.filter((warning) => typeof warning === "string");
}

/** Where a reward runs code, however deep in it; nothing for anything else. */
export function sandboxesOf(score: unknown): readonly SandboxInfo[] {
  if (typeof score !== "function" || !("sandboxes" in score) || !Array.isArray(score.sandboxes)) return [];
  return score.sandboxes.filter((each) => typeof each?.name === "string" && typeof each?.level === "string");
}

/** What a reward made of others has from them, each once. */
export function factsOf(...rewards: readonly unknown[]): Pick<Required<RewardFacts>, "warnings" | "sandboxes"> {
  const sandboxes = new Map(rewards.flatMap(sandboxesOf).map((each) => [`${each.name} ${each.level}`, each]));
  return { warnings: [...new Set(rewards.flatMap(warningsOf))], sandboxes: [...sandboxes.values()] };
}
