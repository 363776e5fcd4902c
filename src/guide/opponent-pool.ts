import { z } from "zod";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { createRng } from "../random.ts";
import { parseWith } from "../schema/parse-with.ts";
import { seedOf } from "../task/seeds.ts";
import { type Guide, type GuideContext, guideWeights, type Lease, type LeasedGroup, type MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";

export interface OpponentPoolOptions {
  /** The role that opponents play. */
  role: string;
  /** A copy of the policy joins the pool after so many of its updates. */
  every: number;
  /** Copies that are kept; beyond that the oldest leaves. */
  size: number;
  /** The share of tasks that are played against the newest copy; the others against any, each as likely. */
  newest: number;
  /** Where tasks come from. */
  tasks: MakeGuide;
}

const known: KnownOptions<OpponentPoolOptions> = { role: true, every: true, size: true, newest: true, tasks: true };
const defaults = { every: 10, size: 8, newest: 0.5, tasks: inOrder() };

/**
 * Self-play against earlier selves: one role is played by copies of the policy as it was every so many updates.
 *
 *     train({ env: nim(), guide: opponentPool({ role: "opponent" }), … })
 *
 * Who learns against its latest self alone forgets how to beat the ones before, and may go round in circles. What opponents say is never learned from.
 * All attempts of a group meet the same opponent; its name is the task's annotation `weights`.
 */
export function opponentPool(options: Pick<OpponentPoolOptions, "role"> & Partial<OpponentPoolOptions>): MakeGuide {
  refuseUnknownOptions("opponentPool", options, known);
  const chosen = { ...defaults, ...options };
  const { every, size, newest } = chosen;
  for (const [name, value] of Object.entries({ every, size })) {
    if (!(Number.isInteger(value) && value >= 1)) refuse(`${name} ${value}`, "a whole number of at least 1");
  }
  if (!(newest >= 0 && newest <= 1)) refuse(`newest ${newest}`, "a share, 0 to 1");
  return function opponentPool<Data>(context: GuideContext<Data>): Guide<Data> {
    const { roles } = context.env;
    if (!roles.slice(1).includes(chosen.role)) {
      refuse(
        `role "${chosen.role}"`,
        `a role of ${context.env.name} that does not begin: ${roles.slice(1).join(", ") || "it has none"}`,
      );
    }
    return new OpponentPool(context, chosen);
  };
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-option", { got: `${got} of opponentPool`, expected });
}

const Member = z.object({ name: z.string(), version: z.int().min(0) });
const State = z.object({
  tasks: z.unknown(),
  /** The oldest first. */
  pool: z.array(Member),
  made: z.int().min(0),
  picked: z.int().min(0),
  /** Whom leases under way are played against. */
  against: z.array(z.tuple([z.string(), z.string()])),
});

class OpponentPool<Data> implements Guide<Data> {
  readonly name = "opponent-pool";
  readonly #context: GuideContext<Data>;
  readonly #options: OpponentPoolOptions;
  readonly #tasks: Guide<Data>;
  #pool: z.infer<typeof Member>[] = [];
  #against = new Map<string, string>();
  #made = 0;
  #picked = 0;
  #lastPick: Promise<unknown> = Promise.resolve();

  constructor(context: GuideContext<Data>, options: OpponentPoolOptions) {
    this.#context = context;
    this.#options = options;
    this.#tasks = options.tasks(context);
  }

  /** One after the other, so that two picks do not both make the same copy. */
  pick(count: number) {
    const picked = this.#lastPick.then(async () => {
      if (count > 0) await this.#renew();
      return (await this.#tasks.pick(count)).map((lease) => this.#matched(lease));
    });
    this.#lastPick = picked.catch(() => undefined);
    return picked;
  }

  async #renew(): Promise<void> {
    const { engine } = this.#context;
    const { every, size } = this.#options;
    const { policyVersion } = engine.info;
    const newest = this.#pool.at(-1);
    // a run that was resumed from elsewhere may have gone back
    if (newest !== undefined && Math.abs(policyVersion - newest.version) < every) return;
    const name = `${guideWeights}opponent-${this.#made}`;
    await engine.snapshot(name);
    this.#made++;
    this.#pool.push({ name, version: policyVersion });
    const inPlay = new Set(this.#against.values());
    while (this.#pool.length > size) {
      // who is in the middle of a game stays until it is over
      const leaving = this.#pool.findIndex((member, i) => i < this.#pool.length - 1 && !inPlay.has(member.name));
      if (leaving < 0) return;
      const [{ name: gone }] = this.#pool.splice(leaving, 1);
      await engine.release({ weights: gone });
    }
  }

  #matched({ id, task }: Lease<Data>): Lease<Data> {
    const { role, newest } = this.#options;
    let name = this.#against.get(id);
    if (name === undefined) {
      const rng = createRng(seedOf(this.#context.seed, "opponent-pool", this.#picked++));
      const isNewest = rng.next() < newest;
      name = this.#pool[isNewest ? this.#pool.length - 1 : rng.integer(this.#pool.length)].name;
      this.#against.set(id, name);
    }
    return { id, task: { ...task, annotations: { ...task.annotations, weights: { [role]: name } } } };
  }

  async observe(results: readonly LeasedGroup<Data>[]) {
    const extra = await this.#tasks.observe(results);
    for (const { lease } of results) this.#against.delete(lease.id);
    return extra;
  }

  state(): unknown {
    return {
      tasks: this.#tasks.state(),
      pool: [...this.#pool],
      made: this.#made,
      picked: this.#picked,
      against: [...this.#against],
    };
  }

  restore(state: unknown): void {
    const stored = parseWith(State, state, "the state of opponent-pool", "bad-guide-state");
    this.#tasks.restore(stored.tasks);
    this.#pool = stored.pool;
    this.#against = new Map(stored.against);
    [this.#made, this.#picked] = [stored.made, stored.picked];
  }

  metrics(): Readonly<Record<string, number>> {
    return { ...this.#tasks.metrics(), "guide/opponents": this.#pool.length };
  }
}
