import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng, type Rng } from "../random.ts";
import { hashText, seedOf } from "./seeds.ts";
import type { TaskSource } from "./task-source.ts";

export interface GeneratedOptions<Data> {
  name: string;
  seed: number;
  /** "train" and "test" by default; more for out-of-distribution variants. */
  splits: readonly string[];
  /**
   * What makes two tasks the same. Where it is given, a task that could be a test task is never a training task: each key
   * belongs to one of the two by its hash. Without it, splits differ by their seeds alone.
   */
  key?: (data: Data) => string;
  /** The share of keys that are kept for testing. */
  testShare: number;
  domain?: string;
}

const knownGeneratedOptions: KnownOptions<GeneratedOptions<unknown>> = {
  name: true,
  seed: true,
  splits: true,
  key: true,
  testShare: true,
  domain: true,
};

const defaults = { name: "generated", seed: 0, splits: ["train", "test"], testShare: 0.25 };
const maxDraws = 10_000;

/** Tasks made as they are needed, endlessly. `make` must draw every random number from `rng`. */
export function generated<Data>(
  make: (rng: Rng, split: string) => Data,
  options: Partial<GeneratedOptions<Data>> = {},
): TaskSource<Data> {
  refuseUnknownOptions("generated", options, knownGeneratedOptions);
  const { name, seed, splits, key, testShare, domain } = { ...defaults, ...options };

  function draw(rng: Rng, split: string): Data {
    if (key === undefined || (split !== "train" && split !== "test")) return make(rng, split);
    for (let i = 0; i < maxDraws; i++) {
      const data = make(rng, split);
      const isTest = hashText(key(data)) / 2 ** 32 < testShare;
      if (isTest === (split === "test")) return data;
    }
    throw new LudusError("no-task", {
      got: `${maxDraws} draws of ${name} without one for "${split}"`,
      expected: "tasks with many different keys",
      hint: "There may be too few different tasks to hold some out for testing. If so, leave `key` out.",
    });
  }

  return {
    name,
    splits,
    size: () => Number.POSITIVE_INFINITY,
    at(split, index) {
      if (!splits.includes(split)) {
        throw new LudusError("unknown-split", { got: `"${split}" of ${name}`, expected: splits.join(", ") });
      }
      const taskSeed = seedOf(seed, `${name}/${split}`, index);
      return {
        id: `${name}/${split}/${index}`,
        seed: taskSeed,
        data: draw(createRng(taskSeed), split),
        ...defined({ domain }),
      };
    },
  };
}
