import { z } from "zod";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng, type Rng } from "../random.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import { taskFromJson } from "../schema/task-json.ts";
import { seedOf } from "../task/seeds.ts";
import type { Guide, GuideContext, LeasedGroup, MakeGuide } from "./guide.ts";
import { type Leases, leases } from "./leases.ts";
import { soundAttempts } from "./sound-attempts.ts";

export interface SelfEvolvingOptions<Data = unknown> {
  /** Another task like this one; undefined where there is none. A rule, or a model that is asked for one. Tasks must be data that JSON can hold. */
  vary: (task: Data, rng: Rng) => Data | undefined | Promise<Data | undefined>;
  /** Tasks have descendants whose attempts succeed at least and at most this often: too hard and too easy ones have none. */
  keep: readonly [number, number];
  /** The share of tasks that are descendants; the others are of the split, in order. */
  evolved: number;
  /** Tasks that may have descendants; beyond that the oldest are forgotten. */
  parents: number;
}

const known: KnownOptions<SelfEvolvingOptions> = { vary: true, keep: true, evolved: true, parents: true };
const defaults = { keep: [0.05, 0.75] as const, evolved: 0.5, parents: 64 };

/**
 * Tasks that grow out of those the policy fails at now and then (WebRL): a share of each step are variations of tasks whose attempts succeed sometimes.
 *
 *     train({ …, guide: selfEvolving({ vary: ({ path }, rng) => ({ path: path + rng.integer(2) }) }) })
 *
 * WebRL writes them with a model from tasks that failed and keeps those that a critic gives 0.05 to 0.75; here what attempts came to decides, so a task that was
 * too hard or too easy costs one group. A variation may have variations of its own.
 */
export function selfEvolving<Own>(
  options: Pick<SelfEvolvingOptions<Own>, "vary"> & Partial<SelfEvolvingOptions<Own>>,
): MakeGuide {
  refuseUnknownOptions<Partial<SelfEvolvingOptions<Own>>>("selfEvolving", options, known);
  const chosen = { ...defaults, ...options };
  check(chosen);
  return function selfEvolving<Data>(context: GuideContext<Data>): Guide<Data> {
    // a configuration names its world and its guide together, so tasks are of the world's own kind
    return new SelfEvolving(context, chosen as unknown as SelfEvolvingOptions<Data>);
  };
}

function check<Own>({ vary, keep, evolved, parents }: SelfEvolvingOptions<Own>): void {
  const refuse = (got: string, expected: string): never => {
    throw new LudusError("bad-option", { got: `${got} of selfEvolving`, expected });
  };
  if (typeof vary !== "function") refuse(`vary ${typeof vary}`, "a function from a task to another one");
  const [low, high] = keep;
  if (!(low >= 0 && low <= high && high <= 1)) refuse(`keep [${keep}]`, "two shares, the lower one first");
  if (!(evolved >= 0 && evolved <= 1)) refuse(`evolved ${evolved}`, "a share, 0 to 1");
  if (!(Number.isInteger(parents) && parents >= 1)) refuse(`parents ${parents}`, "a whole number of at least 1");
}

const Counters = z.object({ next: z.int().min(0), tasks: z.int().min(0), made: z.int().min(0) });
const State = z.object({
  counters: Counters,
  parents: z.array(z.unknown().transform(taskFromJson)),
  leases: z.unknown(),
});

class SelfEvolving<Data> implements Guide<Data> {
  readonly name = "self-evolving";
  readonly #context: GuideContext<Data>;
  readonly #options: SelfEvolvingOptions<Data>;
  readonly #leases: Leases<Data, null> = leases(z.null());
  /** The oldest first. */
  #parents: Task<Data>[] = [];
  #counters: z.infer<typeof Counters> = { next: 0, tasks: 0, made: 0 };
  #lastPick: Promise<unknown> = Promise.resolve();

  constructor(context: GuideContext<Data>, options: SelfEvolvingOptions<Data>) {
    this.#context = context;
    this.#options = options;
  }

  /** One after the other: each counts on from the one before. */
  pick(count: number) {
    const picked = this.#lastPick.then(async () => {
      const found = [...this.#leases.again(count)];
      while (found.length < count) found.push(this.#leases.open(await this.#next(), null));
      return found;
    });
    this.#lastPick = picked.catch(() => undefined);
    return picked;
  }

  async #next(): Promise<Task<Data>> {
    const place = this.#counters.tasks++;
    const isEvolved = (n: number) => Math.floor(n * this.#options.evolved);
    const child = isEvolved(place + 1) > isEvolved(place) ? await this.#child(place) : undefined;
    return child ?? this.#context.env.tasks.at(this.#context.split, this.#counters.next++);
  }

  /** Undefined where there is nobody to descend from, or nothing to make of them. */
  async #child(place: number): Promise<Task<Data> | undefined> {
    if (this.#parents.length === 0) return undefined;
    const { seed } = this.#context;
    const rng = createRng(seedOf(seed, "self-evolving", place));
    const parent = this.#parents[rng.integer(this.#parents.length)];
    const data = await this.#options.vary(parent.data, rng);
    if (data === undefined) return undefined;
    const n = this.#counters.made++;
    const { domain } = parent;
    return { id: `evolved/${n}`, seed: seedOf(seed, "evolved", n), data, parent: parent.id, ...defined({ domain }) };
  }

  observe(results: readonly LeasedGroup<Data>[]) {
    this.#leases.close(results);
    const [low, high] = this.#options.keep;
    for (const { group } of results) {
      const attempts = soundAttempts(group, this.#context.env.roles[0]);
      if (attempts.length === 0) continue;
      const share = attempts.filter(([{ score }]) => score.success).length / attempts.length;
      const { annotations: _told, ...task } = group.task;
      if (share >= low && share <= high) this.#parents.push(task);
    }
    this.#parents = this.#parents.slice(-this.#options.parents);
    return [];
  }

  state(): unknown {
    return { counters: { ...this.#counters }, parents: [...this.#parents], leases: this.#leases.state() };
  }

  restore(state: unknown): void {
    const stored = parseWith(State, state, "the state of self-evolving", "bad-guide-state");
    this.#leases.restore(stored.leases);
    // what a task's data is was checked by its environment when it was made
    this.#parents = stored.parents as Task<Data>[];
    this.#counters = stored.counters;
  }

  metrics(): Readonly<Record<string, number>> {
    const { tasks, made } = this.#counters;
    return { "guide/tasks": tasks, "guide/evolved": made, "guide/parents": this.#parents.length };
  }
}
