import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { firstVisitBonuses } from "../scorer/subgoals.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

export interface SubgoalsOptions<Data, State> {
  /** Every goal and what it is worth. */
  goals: Readonly<Record<string, number>>;
  /** Turn by turn, the goals that hold after it. Names that are not goals count nothing. */
  reached: (episode: ScoredEpisode<Data, State>) => readonly ReadonlySet<string>[];
}

const knownSubgoalsOptions: KnownOptions<SubgoalsOptions<unknown, unknown>> = { goals: true, reached: true };

/**
 * A bonus for each goal the first time it is reached, never again, so that no goal can be farmed. One part per goal; solved
 * is all of them. Shaping by potentials is worth nothing to a whole episode: give `potentialShaping` as rewards of turns.
 */
export function subgoals<Data, State = unknown>(options: SubgoalsOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("subgoals", options, knownSubgoalsOptions);
  const { goals, reached } = options;
  const names = Object.keys(goals);
  const sumOf = (isIn: (bonus: number) => boolean) =>
    Object.values(goals).reduce((sum, bonus) => sum + (isIn(bonus) ? bonus : 0), 0);
  return makeReward(
    (episode) => {
      const turns = reached(episode);
      const parts = names.map((goal) => {
        const held = turns.map((all) => new Set(all.has(goal) ? [goal] : []));
        return [goal, firstVisitBonuses(held, goals).reduce((sum, bonus) => sum + bonus, 0)] as const;
      });
      const isSolved = names.every((goal) => turns.some((all) => all.has(goal)));
      return makeScore(Object.fromEntries(parts), isSolved);
    },
    { range: [sumOf((bonus) => bonus < 0), sumOf((bonus) => bonus > 0)] },
  );
}
