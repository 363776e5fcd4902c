import type { Credit } from "../credit/credit.ts";
import type { GroupFilter } from "../credit/group-filter.ts";
import type { KlController } from "../loss/kl-controller.ts";
import type { Loss } from "../loss/loss.ts";
import type { PolicyStop } from "../schema/stop-reason.ts";
import type { TokenTargets } from "../schema/train-batch.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { LearningRate, Schedule } from "./schedule.ts";

/**
 * A choice of sampling, filter, credit and loss, with a name. The trainer knows nothing else about an algorithm, so a new one
 * is an object like this:
 *
 *     const mine: Algorithm = {
 *       ...grpo({ groupSize: 8 }),
 *       name: "mine",
 *       credit: { name: "rank", needs: {}, assign: (rows) => … },
 *     };
 */
export interface Algorithm {
  readonly name: string;
  /** Attempts at each task. */
  readonly groupSize: number;
  readonly sampling: Sampling;
  /** Which groups are learned from; made anew for each run, told how many groups a step has. */
  filter(groups: number): GroupFilter;
  readonly credit: Credit;
  readonly loss: Loss;
  /** How often a batch is gone through, and in how many parts each time; each part is one step of the optimizer. */
  readonly epochs: number;
  readonly miniBatches: number;
  readonly optimizer: Optimizer;
  /** Rollouts that ended so count in statistics but are left out of the loss (DAPO's overlong, DeepSWE's compact filtering). */
  readonly maskStops: readonly PolicyStop[];
  /** Which rollouts the loss is of, besides; all by default. The others count in statistics. */
  readonly learnFrom?: (trajectory: Trajectory) => boolean;
  /** What the policy should have said, token by token, for losses that need `targets`; nothing is learned from rollouts without. */
  readonly targetsOf?: (trajectory: Trajectory) => TokenTargets | undefined;
  /**
   * What is learned from in place of a trajectory, such as the same attempt without the hint it had; the trajectory itself by default,
   * which is to be returned where nothing changes. Only what precedes the first turn may differ. A view is off-policy: log-probabilities
   * before the update are computed anew, those of sampling stay in `behaviourLogprobs_T`, and `viewOffset` marks its row for the loss.
   */
  readonly view?: (trajectory: Trajectory) => Trajectory;
  /**
   * Rewards of further attempts that a group is compared with, by the filter and by credit. Nothing is learned from them. Given what
   * one role did in a group, as it was sampled.
   */
  readonly compareWith?: (group: TrajectoryGroup) => readonly number[];
  /** How much each token counts, for credit that needs `weights`: one array for each trajectory, as long as its tokens. */
  readonly weigh?: (trajectories: readonly Trajectory[]) => Promise<readonly Float32Array[]>;
  /** A penalty for leaving the reference policy, taken off the rewards (PPO, REINFORCE++). The run holds its coefficient. */
  readonly klInReward?: KlController;
  /** Where values come from, for credit and losses that need them. */
  readonly critic?: Critic;
  /** The options it was made from, to be stored with the run and compared when the run is resumed. */
  readonly options?: Readonly<Record<string, unknown>>;
}

export interface Sampling {
  readonly temperature: Schedule;
  readonly topP?: number;
  readonly topK?: number;
  readonly epsilonTool?: number;
}

export interface Optimizer {
  readonly learningRate: LearningRate;
  readonly weightDecay: number;
  readonly beta2: number;
  readonly maxGradientNorm: number;
}

export interface Critic {
  /** A head on the policy's own trunk, or a second set of weights that learns values alone, at a rate of its own. */
  readonly kind: "shared" | "separate";
  readonly learningRate: Schedule;
  /** Steps at the beginning in which a separate critic learns and the policy does not (VAPO). */
  readonly pretrainSteps: number;
}
