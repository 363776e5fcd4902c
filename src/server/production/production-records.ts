import { createHash } from "node:crypto";
import { wallClock } from "../../clock.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { redact as redactSecrets } from "../../redact.ts";
import { makeScore, makeTrajectoryGroup, type Score, type Task, type Trajectory } from "../../schema/index.ts";
import { type RunStore, type TrajectoryFilter, type TrajectorySummary, trainSplit } from "../../store/index.ts";
import { type Redact, redactTrajectory } from "./redact-trajectory.ts";

/** The split of episodes that nobody has judged yet: nothing learns from them unless it asks for them. */
export const productionSplit = "production";

export interface ProductionOptions {
  /** Where episodes are kept, such as `openRun("runs/production")`. */
  store: RunStore;
  /** Of the model that speaks: what is taken out of texts is taken out of tokens too. */
  tokenizer: Tokenizer;
  /** The share of sessions that are kept, by the session's id: asked again, it is the same answer. */
  rate: number;
  /** Any text that stays the same and stays secret: users are stored as hashes with it. */
  salt: string;
  /** Takes out of a text what may not be kept; keys and passwords are taken out in any case. Where it throws, nothing is kept. */
  redact?: Redact;
  /** Is told why an episode was lost. Without it, problems are silent, as an agent must not fail because it could not be recorded. */
  onProblem?: (problem: LudusError) => void;
  now?: () => number;
}

const known: KnownOptions<ProductionOptions> = {
  store: true,
  tokenizer: true,
  rate: true,
  salt: true,
  redact: true,
  onProblem: true,
  now: true,
};

export interface ProductionSession {
  readonly id: string;
  /** Whether its user agreed to being recorded. Anything but true is no. */
  readonly consent: boolean;
  readonly user?: string;
}

/** What a user thought of an episode: a number, where 1 is good, or parts of a reward. */
export interface ProductionFeedback {
  readonly reward: number | Readonly<Record<string, number>>;
  readonly success?: boolean;
}

export type ProductionOutcome = "kept" | "no-consent" | "opted-out" | "not-sampled" | "not-redacted" | "not-stored";

export interface ProductionRecords {
  /** Whether a session would be kept: one that is not need not be recorded at all. */
  wants(session: ProductionSession): boolean;
  /** Redacts and stores an episode. Never throws: what went wrong is the outcome, and told to `onProblem`. */
  keep(
    session: ProductionSession,
    trajectories: readonly Trajectory[],
    feedback?: ProductionFeedback,
  ): Promise<ProductionOutcome>;
  /** From now on the episode is one to learn from; feedback that came before is replaced. */
  feedback(id: string, feedback: ProductionFeedback): Promise<void>;
  /** Forgets what a user said, and keeps nothing more of them. Returns how many episodes are gone. */
  optOut(user: string): Promise<number>;
  /** Forgets episodes of the days before this time. Returns how many. */
  forgetBefore(time: number): Promise<number>;
}

const dayMs = 86_400_000;
const stateKey = "production/opted-out";

interface EpisodeTask {
  readonly user?: string;
  readonly time: number;
}

/**
 * Keeps what users of a deployed agent agreed to. A step of the store is a day (UTC, counted from 1970); episodes with feedback are in the
 * split `train`, where `storedGroups` finds them, all others in `production`.
 *
 *     const records = await productionRecords({ store, tokenizer, rate: 0.1, salt });
 *     const { value, rollout } = await capture(() => agent(question));
 *     await records.keep({ id, consent, user }, rollout.trajectories({ taskId: id, score: makeScore({}) }));
 *     await records.feedback(id, { reward: 1 });
 */
export async function productionRecords(options: ProductionOptions): Promise<ProductionRecords> {
  refuseUnknownOptions("productionRecords", options, known);
  const { rate, salt } = options;
  if (!(rate >= 0 && rate <= 1)) throw badOption(`rate ${rate}`, "a number from 0 to 1");
  if (salt.length < 16) throw badOption(`a salt of ${salt.length} characters`, "at least 16");
  const stored = await options.store.state(stateKey);
  const optedOut = new Set(Array.isArray(stored) ? stored.filter((hash) => typeof hash === "string") : []);
  return new Records(options, optedOut);
}

function badOption(got: string, expected: string): LudusError {
  return new LudusError("bad-option", { got: `productionRecords with ${got}`, expected });
}

class Records implements ProductionRecords {
  readonly #options: ProductionOptions;
  readonly #optedOut: Set<string>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: ProductionOptions, optedOut: Set<string>) {
    this.#options = options;
    this.#optedOut = optedOut;
  }

  wants(session: ProductionSession): boolean {
    return this.#refusal(session) === undefined;
  }

  keep(
    session: ProductionSession,
    trajectories: readonly Trajectory[],
    feedback?: ProductionFeedback,
  ): Promise<ProductionOutcome> {
    return this.#inTurn(() => this.#keep(session, trajectories, feedback));
  }

  feedback(id: string, feedback: ProductionFeedback): Promise<void> {
    return this.#inTurn(() => this.#feedback(id, feedback));
  }

  optOut(user: string): Promise<number> {
    // at once: what waits its turn is refused
    this.#optedOut.add(this.#hash(user));
    return this.#inTurn(() => this.#optOut(user));
  }

  forgetBefore(time: number): Promise<number> {
    return this.#inTurn(() => this.#forgetBefore(time));
  }

  /** One after the other: nothing is kept between the reading and the removing of somebody's episodes. */
  #inTurn<Value>(write: () => Promise<Value>): Promise<Value> {
    const result = this.#last.then(write);
    this.#last = result.catch(() => {});
    return result;
  }

  async #keep(
    session: ProductionSession,
    trajectories: readonly Trajectory[],
    feedback?: ProductionFeedback,
  ): Promise<ProductionOutcome> {
    const refusal = this.#refusal(session);
    if (refusal !== undefined) return refusal;
    let redacted: Trajectory[];
    try {
      redacted = this.#redacted(session, trajectories, scoreOf(feedback));
    } catch (error) {
      return this.#lost("not-redacted", session, error);
    }
    if (redacted.length === 0) return "not-redacted";
    try {
      const time = this.#now();
      const user = session.user === undefined ? {} : { user: this.#hash(session.user) };
      const task: Task<EpisodeTask> = { id: session.id, seed: 0, data: { ...user, time } };
      const split = feedback === undefined ? productionSplit : trainSplit;
      await this.#options.store.append(Math.floor(time / dayMs), {
        groups: [{ group: makeTrajectoryGroup(task, redacted), split }],
        removeGroups: await this.#groups({ rollout: session.id }),
      });
      return "kept";
    } catch (error) {
      return this.#lost("not-stored", session, error);
    }
  }

  async #feedback(id: string, feedback: ProductionFeedback): Promise<void> {
    const { store } = this.#options;
    const [key] = await this.#groups({ rollout: id });
    if (key === undefined) {
      throw new LudusError("no-such-episode", {
        got: `feedback for "${id}"`,
        expected: "an episode that was kept",
        hint: "It was not sampled, its user did not agree or has opted out, or it was forgotten. `keep` said which.",
      });
    }
    const { task, trajectories, step } = await store.group(key);
    const score = scoreOf(feedback);
    const group = makeTrajectoryGroup(
      task,
      trajectories.map((trajectory) => ({ ...trajectory, score })),
    );
    await store.append(step, { groups: [{ group, split: trainSplit }], removeGroups: [key] });
  }

  async #optOut(user: string): Promise<number> {
    const { store } = this.#options;
    const hash = this.#hash(user);
    const keys: number[] = [];
    for await (const { group } of this.#summaries({})) {
      if (((await store.group(group)).task.data as EpisodeTask).user === hash) keys.push(group);
    }
    const removeGroups = [...new Set(keys)];
    const step = Math.floor(this.#now() / dayMs);
    await store.append(step, { removeGroups, state: { [stateKey]: [...this.#optedOut] } });
    return removeGroups.length;
  }

  async #forgetBefore(time: number): Promise<number> {
    const to = Math.floor(time / dayMs) - 1;
    const removeGroups = to < 0 ? [] : await this.#groups({ steps: { to } });
    if (removeGroups.length > 0) await this.#options.store.append(Math.floor(this.#now() / dayMs), { removeGroups });
    return removeGroups.length;
  }

  #refusal({ id, consent, user }: ProductionSession): ProductionOutcome | undefined {
    if (consent !== true) return "no-consent";
    if (user !== undefined && this.#optedOut.has(this.#hash(user))) return "opted-out";
    return shareOf(`${this.#options.salt}/sample/${id}`) < this.#options.rate ? undefined : "not-sampled";
  }

  #redacted(session: ProductionSession, trajectories: readonly Trajectory[], score: Score): Trajectory[] {
    const { tokenizer, redact = (text: string) => text } = this.#options;
    const all: Redact = (text) => redact(redactSecrets(text));
    const kept = trajectories.flatMap((trajectory) => {
      const redacted = redactTrajectory(trajectory, tokenizer, all);
      return redacted === undefined ? [] : [redacted];
    });
    const total = kept.reduce((sum, { weight }) => sum + weight, 0);
    return kept.map((trajectory, i) => ({
      ...trajectory,
      id: `${session.id}/${i}`,
      rollout: session.id,
      taskId: session.id,
      score,
      weight: trajectory.weight / total,
    }));
  }

  #lost(outcome: ProductionOutcome, { id }: ProductionSession, cause: unknown): ProductionOutcome {
    const expected = outcome === "not-redacted" ? "a redaction that returns a text" : "a store that takes episodes";
    const problem = new LudusError(outcome, { got: `episode "${id}": ${errorText(cause)}`, expected, cause });
    try {
      this.#options.onProblem?.(problem);
    } catch {
      // the agent goes on, whoever listens
    }
    return outcome;
  }

  /** Keys of groups, each once. */
  async #groups(filter: TrajectoryFilter): Promise<number[]> {
    const keys = new Set<number>();
    for await (const { group } of this.#summaries(filter)) keys.add(group);
    return [...keys];
  }

  async *#summaries(filter: TrajectoryFilter): AsyncGenerator<TrajectorySummary> {
    let after: { after?: number } = {};
    for (;;) {
      const page = await this.#options.store.trajectories(filter, { order: "oldest", limit: 500, ...after });
      yield* page.trajectories;
      if (page.next === undefined) return;
      after = { after: page.next };
    }
  }

  #hash(user: string): string {
    return createHash("sha256").update(`${this.#options.salt}/user/${user}`).digest("base64url");
  }

  #now(): number {
    return (this.#options.now ?? wallClock)();
  }
}

function scoreOf(feedback: ProductionFeedback | undefined): Score {
  if (feedback === undefined) return makeScore({}, false);
  const { reward, success } = feedback;
  const parts = typeof reward === "number" ? { outcome: reward } : reward;
  if (Object.values(parts).some((part) => !Number.isFinite(part))) {
    throw new LudusError("bad-feedback", { got: JSON.stringify(parts), expected: "finite numbers" });
  }
  return makeScore(parts, success);
}

/** From 0 to 1, evenly, and the same for the same text. */
export function shareOf(text: string): number {
  return createHash("sha256").update(text).digest().readUIntBE(0, 6) / 2 ** 48;
}
