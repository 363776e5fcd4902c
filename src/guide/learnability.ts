import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng } from "../random.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import { seedOf } from "../task/seeds.ts";
import type { ExtraGroups, Guide, GuideContext, Lease, LeasedGroup, MakeGuide } from "./guide.ts";
import { type Leases, leases } from "./leases.ts";
import { drawLearnable, learnabilityOf, type SeenTask, SeenTasks, SeenTasksState } from "./seen-tasks.ts";
import { soundAttempts } from "./sound-attempts.ts";

export interface LearnabilityOptions {
  /** The share of tasks that were not seen yet, in the order of the split. */
  fresh: number;
  /** The share of tasks that all recent attempts solved, or none: whether that is still so. */
  checks: number;
  /** Tasks that are remembered; the least learnable and oldest are forgotten first. */
  capacity: number;
  /**
   * Picks for which a task that was just seen does not come again, as long as there are others. A step picks once, and again where
   * a filter wants more.
   */
  rest: number;
  /**
   * How likely a task comes again, by its estimated success rate p, in proportion: p(1 - p) by default, most at one half. `(p) => 1 - p` prefers those that are
   * seldom solved; published curves are `rZeroChallenger`, `absoluteZeroProposer` and `ssrInjector`. Below 0 counts as 0.
   */
  weight: (rate: number) => number;
  /** Tasks that no recent attempt solved are drawn by their weight, too, instead of checked now and then: failed tasks come again. */
  retriesUnsolved: boolean;
}

const knownLearnabilityOptions: KnownOptions<LearnabilityOptions> = {
  fresh: true,
  checks: true,
  capacity: true,
  rest: true,
  weight: true,
  retriesUnsolved: true,
};

const defaults: LearnabilityOptions = {
  fresh: 0.5,
  checks: 0.05,
  capacity: 4096,
  rest: 1,
  weight: (rate) => rate * (1 - rate),
  retriesUnsolved: false,
};

/**
 * Tasks that some attempts solve and others do not come again; those that all attempts solve, or none, give group-relative credit
 * nothing to compare and are only checked now and then.
 *
 *     train({ …, guide: learnability({ fresh: 0.3 }) })
 *
 * A step has a share of fresh tasks, a few checks, and for the rest tasks seen before, drawn in proportion to a weight, p(1 - p) by
 * default, p being the estimated success rate. Where one kind is short, the others fill in.
 */
export function learnability(options: Partial<LearnabilityOptions> = {}): MakeGuide {
  refuseUnknownOptions("learnability", options, knownLearnabilityOptions);
  const chosen = { ...defaults, ...options };
  checkOptions(chosen);
  return function learnability<Data>(context: GuideContext<Data>): Guide<Data> {
    return new LearnableTasks(context, chosen);
  };
}

function checkOptions({ fresh, checks, capacity, rest, weight }: LearnabilityOptions): void {
  for (const [name, share] of Object.entries({ fresh, checks })) {
    if (share >= 0 && share <= 1) continue;
    refuse(`${name} ${share}`, "a share, 0 to 1", `${name} is a part of each step's tasks: 0.25 is a quarter of them.`);
  }
  if (fresh + checks > 1) {
    const hint = "Lower one of them; what is left to 1 is the share of tasks that come again.";
    refuse(`fresh ${fresh} and checks ${checks}`, "at most 1 together", hint);
  }
  if (!(Number.isInteger(capacity) && capacity >= 1)) {
    refuse(`capacity ${capacity}`, "a whole number of at least 1", `${defaults.capacity} is the default.`);
  }
  if (!(Number.isInteger(rest) && rest >= 0)) {
    refuse(`rest ${rest}`, "a whole number of at least 0", "0 lets a task come again at once.");
  }
  if (!Number.isFinite(weight(0.5)))
    refuse(`weight ${weight(0.5)} at 0.5`, "a function with finite values", "(p) => 1 - p");
}

function refuse(got: string, expected: string, hint: string): never {
  throw new LudusError("bad-option", { got: `${got} of learnability`, expected, hint });
}

const Shares = z.object({ fresh: z.number(), retried: z.number(), checks: z.number() });
type Shares = z.infer<typeof Shares>;

const Note = z.object({ id: z.string(), index: z.int().min(0) });
type Note = z.infer<typeof Note>;

const Counters = z.object({
  /** The index of the next fresh task. */
  next: z.int().min(0),
  picks: z.int().min(0),
  tasks: z.int().min(0),
  /** What each kind is still to be given, in tasks. */
  owed: Shares,
  /** Tasks of this step, and how many of them had been seen before. */
  step: z.object({ tasks: z.int().min(0), retried: z.int().min(0) }),
  /** Whether the step's metrics have been read: the next pick begins another. */
  isStepOver: z.boolean(),
});
type Counters = z.infer<typeof Counters>;

const State = z.object({ ...Counters.shape, seen: SeenTasksState, leases: z.unknown() });

interface Found<Data> {
  readonly task: Task<Data>;
  readonly index: number;
}

class LearnableTasks<Data> implements Guide<Data> {
  readonly name = "learnability";
  readonly #context: GuideContext<Data>;
  readonly #options: LearnabilityOptions;
  readonly #leases: Leases<Data, Note> = leases(Note);
  readonly #seen: SeenTasks;
  #counters: Counters = {
    next: 0,
    picks: 0,
    tasks: 0,
    owed: { fresh: 0, retried: 0, checks: 0 },
    step: { tasks: 0, retried: 0 },
    isStepOver: false,
  };
  #lastPick: Promise<unknown> = Promise.resolve();

  constructor(context: GuideContext<Data>, options: LearnabilityOptions) {
    this.#context = context;
    this.#options = options;
    this.#seen = new SeenTasks(options.capacity, options);
  }

  /** One after the other: a pick has to know what the one before it chose. */
  pick(count: number): Promise<readonly Lease<Data>[]> {
    const picked = this.#lastPick.then(() => this.#pick(count));
    this.#lastPick = picked.catch(() => undefined);
    return picked;
  }

  async #pick(count: number): Promise<readonly Lease<Data>[]> {
    const again = this.#leases.again(count);
    const missing = count - again.length;
    return missing === 0 ? again : [...again, ...(await this.#pickNew(missing))];
  }

  async #pickNew(count: number): Promise<Lease<Data>[]> {
    const counters = this.#counters;
    if (counters.isStepOver) counters.step = { tasks: 0, retried: 0 };
    counters.isStepOver = false;
    counters.picks++;
    const { fresh, seen } = await this.#choose(count);
    const again = await this.#found(seen.map(({ index }) => index));
    const missing = count - fresh.length - again.length;
    // a split of fewer tasks than are asked for
    const repeated = missing === 0 ? [] : await this.#nextInOrder(missing);
    counters.tasks += count;
    counters.step.tasks += count;
    counters.step.retried += count - fresh.length;
    return [...fresh, ...again, ...repeated].map(({ task, index }) => this.#leases.open(task, { id: task.id, index }));
  }

  async #choose(count: number): Promise<{ fresh: readonly Found<Data>[]; seen: readonly SeenTask[] }> {
    const { picks, owed } = this.#counters;
    const { fresh: freshShare, checks: checksShare, rest } = this.#options;
    const isMixed = (task: SeenTask) => this.#isMixed(task);
    const rng = createRng(seedOf(this.#context.seed, "learnability", picks));
    const wanted = allot(
      owed,
      { fresh: freshShare, retried: 1 - freshShare - checksShare, checks: checksShare },
      count,
    );
    const underWay = new Set(this.#leases.notes().map(({ id }) => id));
    const free = this.#seen.all().filter(({ id }) => !underWay.has(id));
    const rested = free.filter(({ lastPick }) => picks - lastPick > rest);
    const retried = drawLearnable(rested.filter(isMixed), wanted.retried, rng, this.#options);
    const checks = drawLearnable(
      rested.filter((task) => !isMixed(task)),
      wanted.checks,
      rng,
      this.#options,
    );
    const seen = new Set([...retried, ...checks]);
    const fresh = await this.#fresh(count - seen.size, underWay);
    // nothing is fresh any more: other tasks, those that rest at last
    for (const tasks of [rested, free]) {
      const others = tasks.filter((task) => !seen.has(task));
      for (const task of drawLearnable(others, count - fresh.length - seen.size, rng, this.#options)) seen.add(task);
    }
    return { fresh, seen: [...seen] };
  }

  /** The next tasks of which nothing is known and that are not under way; fewer where the split has no more. */
  async #fresh(count: number, underWay: ReadonlySet<string>): Promise<Found<Data>[]> {
    const { env, split } = this.#context;
    const size = env.tasks.size(split);
    const taken = new Set([...underWay, ...this.#seen.all().map(({ id }) => id)]);
    // a source without end may give the same tasks again and again
    let skips = taken.size;
    const fresh: Found<Data>[] = [];
    while (fresh.length < count && taken.size < size && skips >= 0) {
      for (const found of await this.#nextInOrder(Math.min(count - fresh.length, size - taken.size))) {
        if (taken.has(found.task.id)) skips--;
        else fresh.push(found);
        taken.add(found.task.id);
      }
    }
    return fresh;
  }

  #nextInOrder(count: number): Promise<Found<Data>[]> {
    const first = this.#counters.next;
    this.#counters.next += count;
    return this.#found(Array.from({ length: count }, (_, i) => first + i));
  }

  #found(indices: readonly number[]): Promise<Found<Data>[]> {
    const { env, split } = this.#context;
    return Promise.all(indices.map(async (index) => ({ index, task: await env.tasks.at(split, index) })));
  }

  observe(results: readonly LeasedGroup<Data>[]): ExtraGroups<Data> {
    const notes = this.#leases.close(results);
    const lastPick = this.#counters.picks;
    for (const [i, { group }] of results.entries()) {
      const attempts = soundAttempts(group, this.#context.env.roles[0]);
      // infrastructure failures say nothing about a task
      if (attempts.length === 0) continue;
      const successes = attempts.filter(([{ score }]) => score.success).length;
      this.#seen.add({ ...notes[i], successes, attempts: attempts.length, lastPick });
    }
    this.#seen.forgetExcess();
    return [];
  }

  #isMixed(task: SeenTask): boolean {
    return learnabilityOf(task, this.#options) > 0;
  }

  state(): unknown {
    return { ...structuredClone(this.#counters), seen: this.#seen.state(), leases: this.#leases.state() };
  }

  restore(state: unknown): void {
    const stored = parseWith(State, state, "the state of learnability", "bad-guide-state");
    const { seen, leases: underWay, ...counters } = stored;
    this.#leases.restore(underWay);
    this.#seen.restore(seen);
    this.#counters = counters;
  }

  metrics(): Readonly<Record<string, number>> {
    this.#counters.isStepOver = true;
    const { tasks, step } = this.#counters;
    const seen = this.#seen.all();
    const sum = seen.reduce((total, task) => total + learnabilityOf(task, this.#options), 0);
    return {
      "guide/tasks": tasks,
      "guide/known": seen.length,
      "guide/mixed": seen.filter((task) => this.#isMixed(task)).length,
      ...(step.tasks > 0 && { "guide/retried-share": step.retried / step.tasks }),
      ...(seen.length > 0 && { "guide/mean-learnability": sum / seen.length }),
    };
  }
}

/** Divides `count` tasks by shares; what a kind got too little or too much of is carried over in `owed`. */
function allot(owed: Shares, shares: Shares, count: number): Shares {
  const kinds = ["fresh", "retried", "checks"] as const;
  const given = { fresh: 0, retried: 0, checks: 0 };
  for (let i = 0; i < count; i++) {
    for (const kind of kinds) owed[kind] += shares[kind];
    const most = kinds.reduce((best, kind) => (owed[kind] > owed[best] ? kind : best));
    owed[most]--;
    given[most]++;
  }
  return given;
}
