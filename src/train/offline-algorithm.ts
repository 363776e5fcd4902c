import type { Loss } from "../loss/loss.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { Optimizer } from "./algorithm.ts";
import type { LearnRow } from "./learn-row.ts";

/** How to learn from what was done before, by this policy or by others. */
export interface OfflineAlgorithm {
  readonly name: string;
  readonly loss: Loss;
  readonly optimizer: Optimizer;
  /** What a batch is made of: the rows of each example stay together, be it one rollout or a pair. */
  examples(groups: readonly TrajectoryGroup[]): readonly Example[];
  /**
   * What a loss with a reference compares with: the policy as it was when the training began, or the log-probabilities that
   * were stored with the tokens, which saves a copy of the weights and is right when the policy that sampled them is meant.
   */
  readonly reference?: "snapshot" | "stored";
}

export type Example = readonly LearnRow[];
