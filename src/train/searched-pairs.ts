import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { type SearchedAction, searchedTurn } from "../rollout/search/searched-turn.ts";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { PreferencePair } from "./pairs.ts";

export interface SearchedPairOptions {
  /** θ: what one action must be better by than the other. */
  minGap: number;
  /** Q = α · mean of simulations + (1 − α) · critic, where the search had a critic. */
  alpha: number;
  /** Simulations that an action must have had. */
  leastVisits: number;
}

const knownSearchedPairOptions: KnownOptions<SearchedPairOptions> = { minGap: true, alpha: true, leastVisits: true };

const defaults: SearchedPairOptions = { minGap: 0.2, alpha: 0.5, leastVisits: 1 };

/**
 * Agent Q's pairs (arXiv 2408.07199): at each turn that a tree search chose, the best of the actions it explored against each that is worse, whether the
 * attempt took it or not.
 *
 *     const report = await evaluate(withSearch(env, mcts()), policy, { split: "train" });
 *     const trajectories = report.rollouts.flatMap((rollout) => rollout.trajectories);
 *     await trainOffline({ policy, trajectories, algorithm: dpo({ pairs: searchedPairs }) });
 */
export function searchedPairs(group: TrajectoryGroup, options: Partial<SearchedPairOptions> = {}): PreferencePair[] {
  refuseUnknownOptions("searchedPairs", options, knownSearchedPairOptions);
  const { minGap, alpha, leastVisits } = { ...defaults, ...options };
  if (!(minGap > 0) || !(alpha >= 0 && alpha <= 1)) {
    const expected = "a gap above 0, and alpha from 0 to 1";
    throw new LudusError("bad-option", { got: `minGap ${minGap}, alpha ${alpha} of searchedPairs`, expected });
  }
  const quality = ({ value, critic }: SearchedAction) =>
    critic === null ? value : alpha * value + (1 - alpha) * critic;
  return learnable(group).flatMap((trajectory) =>
    trajectory.turns.flatMap((turn, index) => {
      const explored = (searchedTurn(turn)?.actions ?? []).filter(({ visits }) => visits >= leastVisits);
      if (explored.length < 2) return [];
      const best = explored.reduce((a, b) => (quality(b) > quality(a) ? b : a));
      return explored.flatMap((worse): PreferencePair[] => {
        const gap = quality(best) - quality(worse);
        if (gap < minGap) return [];
        return [{ chosen: [side(trajectory, index, best)], rejected: [side(trajectory, index, worse)], gap }];
      });
    }),
  );
}

/** The attempt up to a turn, with an action in that turn's place. What it was sampled with is not known: it is nobody's. */
function side(trajectory: Trajectory, index: number, { tokens }: SearchedAction) {
  const { start } = trajectory.turns[index].span;
  const end = start + tokens.length;
  const turns = trajectory.turns.slice(0, index + 1).map((turn, i) => {
    return i < index ? turn : { ...turn, span: { start, end }, text: "", calls: [], observation: "" };
  });
  const tokens_T = new Int32Array(end);
  tokens_T.set(trajectory.tokens_T.subarray(0, start));
  tokens_T.set(tokens, start);
  const mask_T = new Uint8Array(end).fill(1, start);
  const versions_T = new Int32Array(end).fill(-1, 0, start);
  const made = {
    ...trajectory,
    id: `${trajectory.id}~${index}~${tokens.join("-")}`,
    tokens_T,
    mask_T,
    versions_T,
    turns,
  };
  return { trajectory: makeTrajectory({ ...made, logprobs_T: new Float32Array(end) }), turn: index };
}
