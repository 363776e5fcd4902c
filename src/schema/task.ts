import type { TaskAnnotations } from "./annotations.ts";

/** One thing to attempt. `data` is what the environment's author wrote; the rest is the framework's. */
export interface Task<Data = unknown> {
  /** Stable across runs: results of the same task are compared by it. */
  readonly id: string;
  /** All randomness of an episode comes from this seed, so every attempt of a group meets the same world. */
  readonly seed: number;
  readonly data: Data;
  /** Rewards are normalised apart for each domain where the credit scheme says so. */
  readonly domain?: string;
  /** How hard it is, on whatever scale its source or its guide uses. */
  readonly difficulty?: number;
  /** Id of the task that it was made from. */
  readonly parent?: string;
  /** What a guide adds to this attempt, such as a hint. */
  readonly annotations?: TaskAnnotations;
}
