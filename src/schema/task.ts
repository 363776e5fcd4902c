/** One thing to attempt. `data` is what the environment's author wrote; the rest is the framework's. */
export interface Task<Data = unknown> {
  /** Stable across runs: results of the same task are compared by it. */
  readonly id: string;
  /** All chance of an episode comes from this seed, so every attempt of a group meets the same world. */
  readonly seed: number;
  readonly data: Data;
  /** Rewards are normalised apart for each domain where the credit scheme says so. */
  readonly domain?: string;
  /** A hint for this attempt: the rollout tells it after the first observation, and the environment knows nothing of it. */
  readonly guidance?: Guidance;
}

/** Help for a task that went wrong before. */
export interface Guidance {
  /** What sort of help, such as `plan`, `feedback` or `environment`. */
  readonly kind: string;
  readonly text: string;
  /** Rewards of the attempts without help that it was made from. */
  readonly failures?: readonly number[];
}
