import type { Score } from "../schema/score.ts";
import { factsOf, makeReward, rangeOf } from "./make-reward.ts";
import type { Reward, RewardRange, ScoredEpisode } from "./reward.ts";

/** A check that returns undefined where it cannot decide. */
export type Rule<Data = unknown, State = unknown> = (
  episode: ScoredEpisode<Data, State>,
) => Score | undefined | Promise<Score | undefined>;

/**
 * A rule where it can decide, a judge elsewhere: what can be verified costs no judge call.
 *
 *     ruleFirst(({ answer }) => (answer === "" ? makeScore({ outcome: 0 }) : undefined), judge({ … }))
 */
export function ruleFirst<Data, State = unknown>(
  rule: Rule<Data, State>,
  judge: Reward<Data, State>,
  range: RewardRange = rangeOf(judge),
): Reward<Data, State> {
  return makeReward(async (episode) => (await rule(episode)) ?? (await judge(episode)), {
    range,
    ...factsOf(judge),
  });
}
