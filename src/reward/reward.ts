import type { Score } from "../schema/score.ts";
import type { StopReason } from "../schema/stop-reason.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { Turn } from "../schema/turn.ts";
import type { SandboxInfo } from "../tool/sandbox/require-level.ts";

/**
 * A score in parts for what happened in an episode. Rewards are values, so that they can be combined, named and reused:
 *
 *     const score = composite({
 *       outcome: exactMatch((task: Question) => task.answer),
 *       format: weighted(0.2, format(["think", "answer"])),
 *     });
 *     const env = defineEnv({ …, score });
 *
 * A plain function is a reward too. Promises: the same episode gives the same score, parts add up to the total, the episode is
 * not changed, and no text of a policy makes it throw. What it throws is an infrastructure failure (a judge that cannot be
 * reached, a task without its answer): the episode then has no score. `rewardContract` tests these promises.
 */
export interface Reward<Data = unknown, State = unknown> {
  (episode: ScoredEpisode<Data, State>): Score | Promise<Score>;
  /** Lowest and highest total; [0, 1] by default. */
  readonly range?: RewardRange;
  /** Problems found when the reward was made, to be shown when a run starts. */
  readonly warnings?: readonly string[];
  /** Where code of the policy is run to score it; recorded with a run. */
  readonly sandboxes?: readonly SandboxInfo[];
}

export type RewardRange = readonly [low: number, high: number];

/** What a reward may look at. Environments' finished episodes are of this kind. */
export interface ScoredEpisode<Data = unknown, State = unknown> {
  readonly task: Data;
  /** The environment's state: a database, a shop, a page. */
  readonly state: State;
  /** The last thing said without a call, or what a tool finished with; empty when nothing was answered. */
  readonly answer: string;
  readonly turns: readonly Turn[];
  /** Tokens that the policy sampled; 0 where nobody samples tokens. */
  readonly sampledTokens: number;
  /** The tokens as they were sampled, without scores, for learned rewards; absent where nobody samples tokens. */
  readonly tokens?: () => readonly Trajectory[];
  /** Where in training the episode was played; absent outside of it. `train` tells it, also after a run was resumed. */
  readonly training?: TrainingProgress;
  readonly stop: StopReason;
  readonly signal: AbortSignal;
}
