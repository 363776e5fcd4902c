import { z } from "zod";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { createLimiter, type Limiter } from "../limiter.ts";
import { createRng, type Rng } from "../random.ts";
import { sayAgain } from "../rollout/say-again.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import { makeTrajectory, relabelled, type Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { Turn } from "../schema/turn.ts";
import { sum } from "../statistics.ts";
import { seedOf } from "../task/seeds.ts";
import type { ExtraGroups, Guide, GuideContext, LeasedGroup, MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";
import { soundAttempts } from "./sound-attempts.ts";

export interface HindsightOptions<Data = unknown> {
  /**
   * For each turn of a failed attempt, the data of the task that it would have solved with that turn; undefined where there is none. Worlds
   * whose tasks have one right answer have nothing to say here, and no use for hindsight.
   */
  achieved: (task: Data, turns: readonly Turn[]) => readonly (Data | undefined)[];
  /**
   * Which of them an attempt is learned from as an attempt at. `final`: the last. `episode`: `goals` of them, drawn. `future`: `goals` draws of a
   * turn and of one reached with it or later; turns before the drawn one are not learned from.
   */
  strategy: "final" | "future" | "episode";
  goals: number;
  /** Attempts of the same group that did not get there are added too, as failures, so that credit within a group has something to compare. */
  compare: boolean;
  /** Goals of one group that are learned from at most, drawn from those of its failed attempts. */
  maxGoals: number;
  /** Attempts that are played again at once. */
  concurrency: number;
  /** Where tasks come from. */
  tasks: MakeGuide;
}

const knownHindsightOptions: KnownOptions<HindsightOptions> = {
  achieved: true,
  strategy: true,
  goals: true,
  compare: true,
  maxGoals: true,
  concurrency: true,
  tasks: true,
};

const strategies = ["final", "future", "episode"] as const;
const defaults = {
  strategy: "future",
  goals: 4,
  compare: false,
  maxGoals: 64,
  concurrency: 64,
  tasks: inOrder(),
} as const;
/** Replayed tokens of one group, all goals together: what they hold is in memory until the step ends. */
const maxGroupTokens = 4 * 2 ** 20;

type Chosen<Data> = HindsightOptions<Data>;

/**
 * Hindsight experience replay: failed attempts are learned from as attempts at what they did reach.
 *
 *     train({ …, guide: hindsight({ achieved: env.achieved, strategy: "future" }), algorithm: relabelling(grpo()) })
 *
 * An attempt is played again with the same tokens at the new task, so prompt, observations and score are the world's own; one that the world
 * does not count as a success is left out. The tokens were sampled for another prompt: `relabelling` says how they are learned from.
 */
export function hindsight<Goal>(
  options: Pick<HindsightOptions<Goal>, "achieved"> & Partial<HindsightOptions<Goal>>,
): MakeGuide {
  refuseUnknownOptions<Partial<HindsightOptions<Goal>>>("hindsight", options, knownHindsightOptions);
  const chosen = { ...defaults, ...options };
  refuseOtherValue("strategy of hindsight", chosen.strategy, strategies);
  check(options, chosen);
  return function hindsight<Data>(context: GuideContext<Data>): Guide<Data> {
    // a configuration names its world and its guide together, so goals are of the world's own kind
    return new Hindsight(context, chosen as unknown as Chosen<Data>);
  };
}

function check<Data>(given: Partial<Chosen<Data>>, chosen: Chosen<Data>): void {
  const { achieved, strategy, goals, compare, maxGoals, concurrency } = chosen;
  if (typeof achieved !== "function") {
    const hint = "goalDials().achieved is one. A world whose tasks have one right answer has none.";
    refuse(`achieved ${typeof achieved}`, "a function: which task each turn would have solved", hint);
  }
  for (const [name, value] of Object.entries({ goals, maxGoals, concurrency })) {
    if (!(Number.isInteger(value) && value >= 1)) refuse(`${name} ${value}`, "a whole number of at least 1");
  }
  if (strategy === "final" && given.goals !== undefined) {
    refuse(
      'goals with strategy "final"',
      "no goals: there is one last state",
      'Leave it out, or use strategy "episode".',
    );
  }
  if (compare && strategy === "future") {
    const hint = 'Other attempts have no such turn. Use strategy "final" or "episode".';
    refuse('compare with strategy "future"', "no compare", hint);
  }
}

function refuse(got: string, expected: string, hint?: string): never {
  throw new LudusError("bad-option", { got: `${got} of hindsight`, expected, ...defined({ hint }) });
}

const Counters = z.object({
  relabelled: z.int().min(0),
  refused: z.int().min(0),
  leftOut: z.int().min(0).default(0),
});
const State = z.object({ tasks: z.unknown(), counters: Counters });

/** An attempt is to be learned from as one at `data`, from turn `from` on. */
interface Goal<Data> {
  readonly data: Data;
  readonly attempt: number;
  readonly from: number;
}

class Hindsight<Data> implements Guide<Data> {
  readonly name = "hindsight";
  readonly #context: GuideContext<Data>;
  readonly #options: Chosen<Data>;
  readonly #tasks: Guide<Data>;
  #counters: z.infer<typeof Counters> = { relabelled: 0, refused: 0, leftOut: 0 };
  readonly #limit: Limiter;

  constructor(context: GuideContext<Data>, options: Chosen<Data>) {
    this.#context = context;
    this.#options = options;
    this.#tasks = options.tasks(context);
    this.#limit = createLimiter(options.concurrency);
  }

  pick(count: number) {
    return this.#tasks.pick(count);
  }

  async observe(results: readonly LeasedGroup<Data>[]): Promise<ExtraGroups<Data>> {
    const extra = await this.#tasks.observe(results);
    const added = await Promise.all(results.map((result) => this.#relabel(result)));
    return [...extra, ...added.flat()];
  }

  async #relabel({ lease, group }: LeasedGroup<Data>): Promise<TrajectoryGroup<Data>[]> {
    const role = this.#context.env.roles[0];
    const rng = createRng(seedOf(this.#context.seed, `hindsight/${lease.id}`, 0));
    const rollouts = soundAttempts(group, role).map(([{ rollout }]) => rollout);
    const attempts = rollouts.map((id) => group.trajectories.filter(({ rollout }) => rollout === id));
    const found = attempts.flatMap((attempt, i) => this.#goalsOf(group.task.data, attempt, i, role, rng));
    const goals = this.#within(found, attempts, rng);
    this.#counters.leftOut += found.length - goals.length;
    const made = await Promise.all(goals.map((goal, i) => this.#groupOf(lease.id, group.task, goal, i, attempts)));
    const groups = made.filter((each) => each !== undefined);
    this.#counters.relabelled += groups.length;
    this.#counters.refused += goals.length - groups.length;
    return groups;
  }

  /** As many of them as may be replayed, drawn without replacement. */
  #within(found: readonly Goal<Data>[], attempts: readonly (readonly Trajectory[])[], rng: Rng): Goal<Data>[] {
    const sizes = attempts.map((attempt) => attempt.reduce((sum, { tokens_T }) => sum + tokens_T.length, 0));
    const all = sizes.reduce((sum, size) => sum + size, 0);
    const tokensOf = ({ attempt }: Goal<Data>) => (this.#options.compare ? all : sizes[attempt]);
    const isAll = found.length <= this.#options.maxGoals && sum(found.map(tokensOf)) <= maxGroupTokens;
    if (isAll) return [...found];
    const left = [...found];
    const goals: Goal<Data>[] = [];
    let tokens = 0;
    while (left.length > 0 && goals.length < this.#options.maxGoals) {
      const [goal] = left.splice(rng.integer(left.length), 1);
      if (tokens + tokensOf(goal) > maxGroupTokens) continue;
      tokens += tokensOf(goal);
      goals.push(goal);
    }
    return goals;
  }

  #goalsOf(task: Data, attempt: readonly Trajectory[], index: number, role: string, rng: Rng): Goal<Data>[] {
    const own = attempt.filter((trajectory) => trajectory.role === role);
    if (own[0].score.success) return [];
    const { achieved, strategy, goals } = this.#options;
    const reached = achieved(
      task,
      own.flatMap(({ turns }) => turns),
    );
    const when = reached.flatMap((data, turn) => (data === undefined ? [] : [{ data, turn }]));
    if (when.length === 0) return [];
    return drawn(when, strategy, goals, rng).map(({ data, from }) => ({ data, from, attempt: index }));
  }

  /** The attempts that the world counts as successes at the new task, or with failures beside them; undefined where there is no success. */
  async #groupOf(
    lease: string,
    task: Task<Data>,
    goal: Goal<Data>,
    index: number,
    attempts: readonly (readonly Trajectory[])[],
  ): Promise<TrajectoryGroup<Data> | undefined> {
    const { seed, domain } = task;
    const id = `${task.id}/hindsight/${lease}/${index}`;
    const other: Task<Data> = { id, seed, data: goal.data, parent: task.id, ...defined({ domain }) };
    const chosen = this.#options.compare ? attempts : [attempts[goal.attempt]];
    const { env, policy, engine, rollout } = this.#context;
    const played = await Promise.all(
      chosen.map((attempt) => {
        const options = { ...rollout, id: `${attempt[0].rollout}/hindsight/${lease}/${index}` };
        return this.#limit(() => sayAgain(env, other, attempt, { ...policy, engine }, options));
      }),
    );
    const sound = played.filter((each) => each !== undefined).filter(({ length }) => length > 0);
    const learned = sound.map((each) =>
      learnedFromTurn(each, env.roles[0], goal.from).map((trajectory) => relabelled(trajectory, task.id)),
    );
    const trajectories = learned.flat().filter(({ mask_T }) => mask_T.includes(1));
    return trajectories.some(({ score }) => score.success) ? { task: other, trajectories } : undefined;
  }

  state(): unknown {
    return { tasks: this.#tasks.state(), counters: { ...this.#counters } };
  }

  restore(state: unknown): void {
    const { tasks, counters } = parseWith(State, state, "the state of hindsight", "bad-guide-state");
    this.#tasks.restore(tasks);
    this.#counters = counters;
  }

  metrics(): Readonly<Record<string, number>> {
    const { relabelled: made, refused, leftOut } = this.#counters;
    const own = { "hindsight/relabelled": made, "hindsight/refused": refused, "hindsight/left-out": leftOut };
    return { ...this.#tasks.metrics(), ...own };
  }
}

interface Reached<Data> {
  readonly data: Data;
  readonly turn: number;
}

/** Each goal once, with the first turn that is learned from. */
function drawn<Data>(
  when: readonly Reached<Data>[],
  strategy: HindsightOptions["strategy"],
  goals: number,
  rng: Rng,
): { data: Data; from: number }[] {
  const draw = (): { data: Data; from: number; key: string } => {
    const last = when.at(-1)!;
    if (strategy === "final") return { data: last.data, from: 0, key: "last" };
    const from = strategy === "episode" ? 0 : rng.integer(last.turn + 1);
    const later = when.filter(({ turn }) => turn >= from);
    const { data, turn } = later[rng.integer(later.length)];
    return { data, from, key: `${from} ${turn}` };
  };
  const draws = Array.from({ length: strategy === "final" ? 1 : goals }, draw);
  return [...new Map(draws.map(({ key, ...each }) => [key, each])).values()];
}

/** `from` counts the role's turns over all its trajectories: a context that is trimmed makes several of an attempt. Other roles stay whole. */
function learnedFromTurn(attempt: readonly Trajectory[], role: string, from: number): Trajectory[] {
  let before = 0;
  return attempt.map((trajectory) => {
    if (trajectory.role !== role) return trajectory;
    const own = Math.max(0, from - before);
    before += trajectory.turns.length;
    return learnedFrom(trajectory, own);
  });
}

/** Nothing is learned from turns before `from`; their tokens stay where they are. */
function learnedFrom(trajectory: Trajectory, from: number): Trajectory {
  const end = trajectory.turns.at(from)?.span.start ?? trajectory.tokens_T.length;
  if (from === 0) return trajectory;
  const { mask_T, logprobs_T, versions_T } = trajectory;
  return makeTrajectory({
    ...trajectory,
    mask_T: mask_T.slice().fill(0, 0, end),
    logprobs_T: logprobs_T.slice().fill(0, 0, end),
    versions_T: versions_T.slice().fill(-1, 0, end),
  });
}
