import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { StopReason } from "../schema/index.ts";

/** Both ends included; without an end, everything on that side. */
export interface StepRange {
  from?: number;
  to?: number;
}

/** What is left out does not matter; what is given must all hold. */
export interface TrajectoryFilter {
  steps?: StepRange;
  split?: string;
  taskId?: string;
  rollout?: string;
  role?: string;
  stop?: StopReason;
  success?: boolean;
  /** What is recorded with its turns: `{ hint: true }` has a hint, `{ hint: false }` has none, `{ hint: "plan" }` has one of that kind. */
  annotations?: Readonly<Record<string, boolean | string>>;
  /** A tool that was called, or that the policy tried to call. */
  tool?: string;
  reward?: { min?: number; max?: number };
  /** Whole words, one after the other in what was said, called or answered. A `*` at the end stands for any ending. */
  text?: string;
}

export interface PageOptions {
  limit: number;
  /** `next` of the page before. */
  after: number;
  order: "newest" | "oldest";
}

/** The split of attempts that are learned from. */
export const trainSplit = "train";

/** The split of attempts that only measure: no metric of training, no replay and no export contains them unless they are asked for. */
export const heldOutSplit = "held-out";
const knownFilter: KnownOptions<TrajectoryFilter> = {
  steps: true,
  split: true,
  taskId: true,
  rollout: true,
  role: true,
  stop: true,
  success: true,
  annotations: true,
  tool: true,
  reward: true,
  text: true,
};
const knownPage: KnownOptions<PageOptions> = { limit: true, after: true, order: true };

/** A condition that is misspelt would otherwise hold for everything. */
export function checkFilter(filter: TrajectoryFilter, page: Partial<PageOptions> = {}): void {
  refuseUnknownOptions("filter of trajectories", filter, knownFilter);
  refuseUnknownOptions("filter of trajectories: steps", filter.steps, { from: true, to: true });
  refuseUnknownOptions("filter of trajectories: reward", filter.reward, { min: true, max: true });
  refuseUnknownOptions("page of trajectories", page, knownPage);
}
