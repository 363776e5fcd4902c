import { defined } from "../../defined.ts";
import { errorText } from "../../errors.ts";
import { uniformAt } from "../../random.ts";
import type { World } from "../../rollout/world.ts";
import type { Message } from "../../schema/message.ts";
import { parseWith } from "../../schema/parse-with.ts";
import type { Task } from "../../schema/task.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { Turn } from "../../schema/turn.ts";
import { seedOf } from "../../task/seeds.ts";
import type { ExtraGroups, Guide, Lease, LeasedGroup } from "../guide.ts";
import { type Leases, leases } from "../leases.ts";
import { soundAttempts } from "../sound-attempts.ts";
import type { GuidanceOptions } from "./guidance-options.ts";
import { type Counts, GuidanceState, LeaseNote, type StoredRetry } from "./guidance-state.ts";
import type { FailedAttempt } from "./hints.ts";

type Retry<Data> = Omit<StoredRetry, "task"> & { readonly task: Task<Data> };

/** The guide that `guidance` makes. Nothing but `state()` has to survive a restart. */
export class GuidedRetries<Data> implements Guide<Data> {
  readonly name = "guidance";
  readonly #env: World<Data>;
  readonly #tasks: Guide<Data>;
  readonly #options: GuidanceOptions;
  readonly #warned = new Set<string>();
  readonly #leases: Leases<Data, LeaseNote> = leases(LeaseNote);
  /** Whether the guide of fresh tasks still has to hand out again what was under way. */
  #isRestored = false;
  #state: Omit<GuidanceState, "tasks" | "leases" | "waiting"> & { waiting: Retry<Data>[] };

  constructor(env: World<Data>, tasks: Guide<Data>, options: GuidanceOptions) {
    this.#env = env;
    this.#tasks = tasks;
    this.#options = options;
    const counts = { owed: 0, draws: 0, passRate: 0, groups: 0, rescued: 0, hintFailures: 0 };
    this.#state = { ...counts, waiting: [], step: noCounts(), isStepOver: false };
  }

  async pick(count: number): Promise<readonly Lease<Data>[]> {
    if (this.#isRestored) await this.#takeAgain();
    const again = this.#leases.again(count);
    const missing = count - again.length;
    return missing === 0 ? again : [...again, ...(await this.#pickNew(missing))];
  }

  /** The leases of fresh tasks are kept here: what the guide that gave them hands out again is not needed. */
  async #takeAgain(): Promise<void> {
    this.#isRestored = false;
    const fresh = this.#leases.notes().filter((note) => "fresh" in note).length;
    if (fresh > 0) await this.#tasks.pick(fresh);
  }

  async #pickNew(count: number): Promise<Lease<Data>[]> {
    const state = this.#state;
    if (state.isStepOver) state.step = noCounts();
    state.isStepOver = false;
    state.owed += this.#options.share * count;
    const due = Math.floor(state.owed + 1e-9);
    state.owed = Math.max(0, state.owed - due);
    const retries = await Promise.all(state.waiting.splice(0, due).map((retry) => this.#hinted(retry)));
    const guided = retries.filter((retry) => retry !== undefined);
    const missing = count - guided.length;
    const fresh = missing === 0 ? [] : await this.#tasks.pick(missing);
    return [
      ...fresh.map(({ id, task }) => this.#leases.open(task, { fresh: id })),
      ...guided.map(({ task, retry }) => this.#leases.open(task, { retry })),
    ];
  }

  async #hinted(retry: Retry<Data>): Promise<{ task: Task<Data>; retry: Retry<Data> } | undefined> {
    const { task, attempts, earlier, failures } = retry;
    try {
      const opening = async () => (await this.#env.opening?.(task))?.messages ?? [];
      const hint = await this.#options.hints.write({ task, attempts, earlier, opening });
      if (hint === undefined || hint.text === "") return undefined;
      const told = { kind: hint.kind, text: hint.text };
      return {
        task: { ...task, annotations: { ...task.annotations, hint: told, failures } },
        retry: { ...retry, earlier: [...earlier, told] },
      };
    } catch (error) {
      this.#state.hintFailures++;
      this.#warn(errorText(error));
      return undefined;
    }
  }

  /** The run continues without the hint; the same reason is told once. */
  #warn(reason: string): void {
    if (this.#warned.has(reason)) return;
    this.#warned.add(reason);
    process.emitWarning(`no hint from "${this.#options.hints.name}": ${reason}`, "LudusGuidance");
  }

  observe(results: readonly LeasedGroup<Data>[]): ExtraGroups<Data> | Promise<ExtraGroups<Data>> {
    const notes = this.#leases.close(results);
    const seen = results.map(({ lease, group }, i) => {
      const note = notes[i];
      // its data is that of the task that was retried
      const retry = "retry" in note ? (note.retry as Retry<Data>) : undefined;
      return { lease, group, note, retry, attempts: soundAttempts(group, this.#env.roles[0]).map(failedAttempt) };
    });
    const sound = seen.filter(({ attempts }) => attempts.length > 0);
    for (const { retry, attempts } of sound) this.#count(attempts, retry);
    for (const { group, retry, attempts } of sound) {
      if (!attempts.some(isSuccess)) this.#decide(group.task, attempts, retry);
    }
    const fresh = seen.flatMap(({ lease, group, note }) =>
      "fresh" in note ? [{ lease: { id: note.fresh, task: lease.task }, group }] : [],
    );
    return fresh.length === 0 ? [] : this.#tasks.observe(fresh);
  }

  #count(attempts: readonly FailedAttempt[], retry: Retry<Data> | undefined): void {
    const state = this.#state;
    const success = attempts.filter(isSuccess).length / attempts.length;
    const counts = retry === undefined ? state.step.unguided : state.step.guided;
    counts.groups++;
    counts.success += success;
    if (success > 0) counts.solved++;
    if (retry === undefined) {
      state.groups = Math.min(state.groups + 1, this.#options.window);
      state.passRate += (success - state.passRate) / state.groups;
    } else if (success > 0) state.rescued++;
  }

  #decide(task: Task<Data>, attempts: readonly FailedAttempt[], retry: Retry<Data> | undefined): void {
    const state = this.#state;
    const { seed, retries, waiting } = this.#options;
    if ((retry?.earlier.length ?? 0) >= retries) return;
    if (uniformAt(seedOf(seed, "guidance", 0), state.draws++) >= this.#probability()) return;
    const failures = attempts.map(({ score }) => score.total).filter(Number.isFinite);
    const next = { task, earlier: [], failures, ...retry, attempts: attempts.map(copied) };
    state.waiting = [...state.waiting.filter((other) => other.task.id !== task.id), next].slice(-waiting);
  }

  #probability(): number {
    return this.#options.probability(this.#state.passRate);
  }

  state(): GuidanceState {
    const { step, waiting, ...rest } = this.#state;
    return {
      ...rest,
      step: structuredClone(step),
      waiting: [...waiting],
      leases: this.#leases.state(),
      tasks: this.#tasks.state(),
    };
  }

  restore(given: unknown): void {
    const stored = parseWith(GuidanceState, given, "the state of guidance", "bad-guide-state");
    const { tasks, leases: underWay, waiting, ...rest } = stored;
    this.#tasks.restore(tasks);
    this.#leases.restore(underWay);
    this.#isRestored = true;
    // what a task's data is was checked by its environment when it was made
    this.#state = { ...rest, waiting: waiting as Retry<Data>[] };
  }

  /** Shares are of the step: of all that was observed since a task was first picked after the last time this was asked. */
  metrics(): Readonly<Record<string, number>> {
    this.#state.isStepOver = true;
    const { step, passRate, waiting, rescued, hintFailures } = this.#state;
    const { guided, unguided } = step;
    const groups = guided.groups + unguided.groups;
    const shares: [string, number, number][] = [
      ["guidance/share", guided.groups, groups],
      ["guidance/success", guided.success, guided.groups],
      ["guidance/success-without", unguided.success, unguided.groups],
      ["guidance/signal", guided.solved + unguided.solved, groups],
      ["guidance/signal-without", unguided.solved, unguided.groups],
    ];
    return {
      ...this.#tasks.metrics(),
      ...Object.fromEntries(shares.filter(([, , of]) => of > 0).map(([name, sum, of]) => [name, sum / of])),
      "guidance/pass-rate": passRate,
      "guidance/probability": this.#probability(),
      "guidance/waiting": waiting.length,
      "guidance/rescued": rescued,
      "guidance/hint-failures": hintFailures,
    };
  }
}

const isSuccess = ({ score }: FailedAttempt) => score.success;
const noCounts = (): GuidanceState["step"] => ({ guided: noCount(), unguided: noCount() });
const noCount = (): Counts => ({ groups: 0, solved: 0, success: 0 });
const copied = ({ messages, score, stop }: FailedAttempt) => ({
  messages: messages.map(({ role, content, name }) => ({ role, content, ...defined({ name }) })),
  score: { ...score, parts: { ...score.parts } },
  stop,
});

function failedAttempt(pieces: readonly Trajectory[]): FailedAttempt {
  const { score, stop } = pieces[0];
  return { score, stop, messages: pieces.flatMap(messagesOf) };
}

function messagesOf({ turns }: Trajectory): Message[] {
  return turns.flatMap((turn): Message[] => [{ role: "assistant", content: turn.text }, ...answers(turn)]);
}

function answers({ calls, observation }: Turn): Message[] {
  if (calls.length > 0) return calls.map((call) => ({ role: "tool", name: call.name, content: call.observation }));
  return observation === "" ? [] : [{ role: "user", content: observation }];
}
