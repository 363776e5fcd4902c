import type { Task } from "../schema/task.ts";

/**
 * Where tasks come from. Access is by index, so a run resumes from one stored number, and the tasks of two splits
 * can be kept disjoint.
 *
 *     const source = generated((rng) => ({ a: rng.integer(10), b: rng.integer(10) }));
 *     await source.at("train", 3);       // { id: "train/3", seed: …, data: { a: 7, b: 1 } }, the same on every call
 */
export interface TaskSource<Data = unknown> {
  readonly name: string;
  /** At least "train" and "test". */
  readonly splits: readonly string[];
  /** How many tasks a split has; `Infinity` where they are made as needed. */
  size(split: string): number;
  /** The same split and index give the same task, always. An index beyond the size starts over, with another seed. */
  at(split: string, index: number): Task<Data> | Promise<Task<Data>>;
}
