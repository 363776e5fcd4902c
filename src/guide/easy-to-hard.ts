import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import type { Guide, GuideContext, MakeGuide } from "./guide.ts";
import { type Leases, leases } from "./leases.ts";
import { soundAttempts } from "./sound-attempts.ts";

export interface EasyToHardOptions {
  /** How hard a task is: its `difficulty` by default. Levels are whole numbers from 0, up to the hardest task. */
  level: (task: Task) => number | undefined;
  levels: number;
  /** The share of attempts that have to succeed, of the last `window` groups of the hardest level that is open, until the next one opens. */
  threshold: number;
  window: number;
  /** The share of tasks that are of easier levels, so that these are not forgotten. */
  review: number;
  /** Tasks that are looked at for each that is picked: a source in which a level is rarer gives the nearest easier one. */
  search: number;
}

const knownEasyToHardOptions: KnownOptions<EasyToHardOptions> = {
  level: true,
  levels: true,
  threshold: true,
  window: true,
  review: true,
  search: true,
};

const defaults: Omit<EasyToHardOptions, "levels"> = {
  level: ({ difficulty }) => difficulty,
  threshold: 0.7,
  window: 16,
  review: 0.25,
  search: 256,
};

/**
 * Tasks by level, the easiest first; the next level opens when the hardest one that is open is solved often enough.
 *
 *     train({ …, guide: easyToHard({ levels: 4, level: ({ data }) => data.hops - 1 }) })
 */
export function easyToHard(options: Pick<EasyToHardOptions, "levels"> & Partial<EasyToHardOptions>): MakeGuide {
  refuseUnknownOptions("easyToHard", options, knownEasyToHardOptions);
  const chosen = { ...defaults, ...options };
  const { levels, window, search, threshold, review } = chosen;
  for (const [name, value] of Object.entries({ levels, window, search })) {
    if (!(Number.isInteger(value) && value >= 1)) refuse(`${name} ${value}`, "a whole number of at least 1");
  }
  if (!(threshold >= 0 && threshold <= 1)) refuse(`threshold ${threshold}`, "a share, 0 to 1");
  if (!(review >= 0 && review < 1)) refuse(`review ${review}`, "a share, 0 to below 1");
  return function easyToHard<Data>(context: GuideContext<Data>): Guide<Data> {
    return new EasyToHard(context, chosen);
  };
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-option", { got: `${got} of easyToHard`, expected });
}

const Counters = z.object({
  /** The hardest level that is open. */
  open: z.int().min(0),
  tasks: z.int().min(0),
  /** Where each level is looked for next. */
  next: z.array(z.int().min(0)),
  /** Success of the last groups of the hardest open level. */
  recent: z.array(z.number()),
});
const State = z.object({ counters: Counters, leases: z.unknown() });

class EasyToHard<Data> implements Guide<Data> {
  readonly name = "easy-to-hard";
  readonly #context: GuideContext<Data>;
  readonly #options: EasyToHardOptions;
  readonly #leases: Leases<Data, number> = leases(z.int().min(0));
  #counters: z.infer<typeof Counters>;
  #lastPick: Promise<unknown> = Promise.resolve();

  constructor(context: GuideContext<Data>, options: EasyToHardOptions) {
    this.#context = context;
    this.#options = options;
    this.#counters = { open: 0, tasks: 0, next: Array<number>(options.levels).fill(0), recent: [] };
  }

  /** One after the other: a pick goes on where the one before it stopped looking. */
  pick(count: number) {
    const picked = this.#lastPick.then(async () => {
      const found = [...this.#leases.again(count)];
      while (found.length < count) {
        const { task, level } = await this.#find(this.#levelOf(this.#counters.tasks++));
        found.push(this.#leases.open(task, level));
      }
      return found;
    });
    this.#lastPick = picked.catch(() => undefined);
    return picked;
  }

  /** The hardest open level, and the easier ones in turn for the share that is review. */
  #levelOf(place: number): number {
    const { open } = this.#counters;
    const { review } = this.#options;
    const reviews = (n: number) => Math.floor(n * review);
    return open > 0 && reviews(place + 1) > reviews(place) ? reviews(place) % open : open;
  }

  /** The next task of a level; where the search ends without one, the hardest of the easier ones it met, and else the easiest. */
  async #find(wanted: number): Promise<{ task: Task<Data>; level: number }> {
    const { env, split } = this.#context;
    const { search, level: levelOf, levels } = this.#options;
    let nearest: { task: Task<Data>; level: number } | undefined;
    for (let i = 0; i < search; i++) {
      const task = await env.tasks.at(split, this.#counters.next[wanted]++);
      const level = levelOf(task);
      if (!(Number.isInteger(level) && level! >= 0 && level! < levels)) throw badLevel(task, level, levels);
      const found = { task, level: level! };
      if (found.level === wanted) return found;
      if (nearest === undefined || distance(found.level, wanted) < distance(nearest.level, wanted)) nearest = found;
    }
    return nearest!;
  }

  observe(results: Parameters<Guide<Data>["observe"]>[0]) {
    const levels = this.#leases.close(results);
    const { threshold, window, levels: all } = this.#options;
    for (const [i, { group }] of results.entries()) {
      const attempts = soundAttempts(group, this.#context.env.roles[0]);
      if (levels[i] !== this.#counters.open || attempts.length === 0) continue;
      const share = attempts.filter(([{ score }]) => score.success).length / attempts.length;
      const recent = [...this.#counters.recent, share].slice(-window);
      const mean = recent.reduce((sum, each) => sum + each, 0) / recent.length;
      const isLearned = recent.length === window && mean >= threshold && this.#counters.open < all - 1;
      this.#counters.recent = isLearned ? [] : recent;
      if (isLearned) this.#counters.open++;
    }
    return [];
  }

  state(): unknown {
    return { counters: structuredClone(this.#counters), leases: this.#leases.state() };
  }

  restore(state: unknown): void {
    const { counters, leases: underWay } = parseWith(State, state, "the state of easy-to-hard", "bad-guide-state");
    this.#leases.restore(underWay);
    this.#counters = counters;
  }

  metrics(): Readonly<Record<string, number>> {
    return { "guide/tasks": this.#counters.tasks, "guide/level": this.#counters.open };
  }
}

/** Harder ones are further away than any easier one. */
function distance(level: number, wanted: number): number {
  return level <= wanted ? wanted - level : 1e6 + level - wanted;
}

function badLevel(task: Task, level: number | undefined, levels: number): LudusError {
  return new LudusError("bad-level", {
    got: `level ${level} of task ${task.id}`,
    expected: `a whole number, 0 to ${levels - 1}`,
    hint: "Give tasks a difficulty, or say level: (task) => …",
  });
}
