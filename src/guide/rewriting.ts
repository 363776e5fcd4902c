import { z } from "zod";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { sayWords } from "../rollout/say-words.ts";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import { relabelled, type Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import type { Turn } from "../schema/turn.ts";
import type { ExtraGroups, Guide, GuideContext, LeasedGroup, MakeGuide } from "./guide.ts";
import { inOrder } from "./in-order.ts";
import { soundAttempts } from "./sound-attempts.ts";

export interface FailedWords<Data = unknown> {
  readonly task: Data;
  /** What was said, done and read. */
  readonly turns: readonly Turn[];
  readonly score: Trajectory["score"];
}

export interface RewritingOptions<Data = unknown> {
  /**
   * What should have been said instead, one text for each turn, now that it is known how it went; undefined where nobody can tell. A rule, a person, or a model
   * that reads the failed attempt.
   */
  rewrite: (failed: FailedWords<Data>) => readonly string[] | undefined | Promise<readonly string[] | undefined>;
  /** Failed attempts of a group that are rewritten at most. */
  perGroup: number;
  /** Groups of which some attempts succeeded have nothing rewritten: those teach by themselves. */
  onlyHopeless: boolean;
  /** Where tasks come from. */
  tasks: MakeGuide;
}

const known: KnownOptions<RewritingOptions> = { rewrite: true, perGroup: true, onlyHopeless: true, tasks: true };
const defaults = { perGroup: 1, onlyHopeless: true, tasks: inOrder() };

/**
 * Failed attempts are rewritten in retrospect and learned from where the world then counts a success:
 *
 *     train({ …, guide: rewriting({ rewrite: ({ task, turns }) => … }), algorithm: relabelling(grpo()) })
 *
 * The world is played anew with the rewritten words, so observations and score are its own, and a rewriting that does not succeed is left out. The words are not the policy's:
 * `relabelling` imitates them. `offPolicy: "importance"` has no meaning here, for nobody sampled them.
 */
export function rewriting<Own>(
  options: Pick<RewritingOptions<Own>, "rewrite"> & Partial<RewritingOptions<Own>>,
): MakeGuide {
  refuseUnknownOptions<Partial<RewritingOptions<Own>>>("rewriting", options, known);
  const chosen = { ...defaults, ...options };
  if (typeof chosen.rewrite !== "function") {
    refuse(`rewrite ${typeof chosen.rewrite}`, "a function from a failed attempt to other words");
  }
  if (!(Number.isInteger(chosen.perGroup) && chosen.perGroup >= 1)) {
    refuse(`perGroup ${chosen.perGroup}`, "a whole number of at least 1");
  }
  return function rewriting<Data>(context: GuideContext<Data>): Guide<Data> {
    // a configuration names its world and its guide together, so tasks are of the world's own kind
    return new Rewriting(context, chosen as unknown as RewritingOptions<Data>);
  };
}

function refuse(got: string, expected: string): never {
  throw new LudusError("bad-option", { got: `${got} of rewriting`, expected });
}

const Counters = z.object({ rewritten: z.int().min(0), refused: z.int().min(0) });
const State = z.object({ tasks: z.unknown(), counters: Counters });

class Rewriting<Data> implements Guide<Data> {
  readonly name = "rewriting";
  readonly #context: GuideContext<Data>;
  readonly #options: RewritingOptions<Data>;
  readonly #tasks: Guide<Data>;
  #counters: z.infer<typeof Counters> = { rewritten: 0, refused: 0 };

  constructor(context: GuideContext<Data>, options: RewritingOptions<Data>) {
    this.#context = context;
    this.#options = options;
    this.#tasks = options.tasks(context);
  }

  pick(count: number) {
    return this.#tasks.pick(count);
  }

  async observe(results: readonly LeasedGroup<Data>[]): Promise<ExtraGroups<Data>> {
    const extra = await this.#tasks.observe(results);
    const added = await Promise.all(results.map((result) => this.#rewritten(result)));
    return [...extra, ...added.filter((group) => group !== undefined)];
  }

  async #rewritten({ lease, group }: LeasedGroup<Data>): Promise<TrajectoryGroup<Data> | undefined> {
    const attempts = soundAttempts(group, this.#context.env.roles[0]);
    const failed = attempts.filter(([{ score }]) => !score.success);
    const { perGroup, onlyHopeless } = this.#options;
    if (onlyHopeless && failed.length < attempts.length) return undefined;
    const { id, seed, data, domain } = group.task;
    const task: Task<Data> = { id: `${id}/rewritten/${lease.id}`, seed, data, parent: id, ...defined({ domain }) };
    const made = await Promise.all(failed.slice(0, perGroup).map((attempt, i) => this.#played(task, attempt, i)));
    const trajectories = made.flat();
    return trajectories.length === 0 ? undefined : { task, trajectories };
  }

  async #played(task: Task<Data>, attempt: readonly Trajectory[], index: number): Promise<Trajectory[]> {
    const turns = attempt.flatMap((trajectory) => trajectory.turns);
    const words = await this.#options.rewrite({ task: task.data, turns, score: attempt[0].score });
    if (words === undefined) return [];
    const { env, policy, engine, rollout } = this.#context;
    const options = { ...rollout, id: `${task.id}/${index}` };
    const played = await sayWords(env, task, words, { ...policy, engine }, options);
    const isSolved = played?.some(({ score }) => score.success) === true;
    this.#counters[isSolved ? "rewritten" : "refused"]++;
    return isSolved ? played!.map((trajectory) => relabelled(trajectory, task.parent!)) : [];
  }

  state(): unknown {
    return { tasks: this.#tasks.state(), counters: { ...this.#counters } };
  }

  restore(state: unknown): void {
    const { tasks, counters } = parseWith(State, state, "the state of rewriting", "bad-guide-state");
    this.#tasks.restore(tasks);
    this.#counters = counters;
  }

  metrics(): Readonly<Record<string, number>> {
    const { rewritten, refused } = this.#counters;
    return { ...this.#tasks.metrics(), "rewriting/rewritten": rewritten, "rewriting/refused": refused };
  }
}
