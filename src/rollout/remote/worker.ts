import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout } from "node:timers/promises";
import { errorText, failureText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { JobQueue, LeasedJob } from "../../queue/queue.ts";
import type { Rollout, RolloutOptions } from "../rollout.ts";
import type { World } from "../world.ts";
import { encodeResult, type JobSpec, readSpec } from "./job.ts";
import { type RenderedPolicy, readPolicyCard } from "./policy-card.ts";
import { remoteEngine } from "./remote-engine.ts";

/** What a worker plays: a world, and what of a run's settings no job can carry. */
export interface PlayedWorld {
  readonly world: World;
  readonly rollout?: Pick<RolloutOptions, "format" | "context" | "sandbox">;
}

export interface WorkerOptions {
  worlds: readonly PlayedWorld[];
  /** Groups under way at once; 4 by default. */
  parallel?: number;
  /** Milliseconds after which a worker that is gone is given up; 30 s by default. */
  leaseMs?: number;
  /** Milliseconds between two looks for work, while there is none; 200 by default. */
  pollMs?: number;
  name?: string;
  /** Stops it: what is under way is given back at once. */
  signal?: AbortSignal;
  onGroup?: (job: LeasedJob, outcome: "finished" | "late" | "given back", failure?: string) => void;
}

const knownWorkerOptions: KnownOptions<WorkerOptions> = {
  worlds: true,
  parallel: true,
  leaseMs: true,
  pollMs: true,
  name: true,
  signal: true,
  onGroup: true,
};

/** Plays jobs of a queue until its signal says otherwise. Returns how many groups it has finished. */
export async function runWorker(queue: JobQueue, options: WorkerOptions): Promise<number> {
  refuseUnknownOptions("runWorker", options, knownWorkerOptions);
  return new Worker(queue, options).run();
}

class Worker {
  readonly #queue: JobQueue;
  readonly #options: WorkerOptions;
  readonly #name: string;
  readonly #worlds: ReadonlyMap<string, PlayedWorld>;
  readonly #cards = new Map<string, Promise<RenderedPolicy>>();
  /** Under way, each with what breaks it off. */
  readonly #jobs = new Map<
    number,
    { readonly job: LeasedJob; readonly stop: AbortController; readonly done: Promise<void> }
  >();
  #groups = 0;
  #problem: unknown;

  constructor(queue: JobQueue, options: WorkerOptions) {
    this.#queue = queue;
    this.#options = options;
    this.#name = options.name ?? `${hostname()}-${process.pid}-${randomUUID().slice(0, 4)}`;
    this.#worlds = new Map(options.worlds.map((played) => [played.world.name, played]));
  }

  async run(): Promise<number> {
    const { signal = new AbortController().signal, parallel = 4, leaseMs = 30_000, pollMs = 200 } = this.#options;
    const ended = new AbortController();
    const beating = this.#beatUntil(ended.signal, leaseMs);
    try {
      while (!signal.aborted && this.#problem === undefined) {
        const free = parallel - this.#jobs.size;
        const worlds = [...this.#worlds.keys()];
        const taken = free === 0 ? [] : await this.#queue.take(this.#name, { worlds, count: free, leaseMs });
        for (const job of taken) this.#start(job);
        if (taken.length === 0) await this.#pause(pollMs, signal);
      }
    } finally {
      for (const { stop } of this.#jobs.values()) stop.abort(new Error("the worker was stopped"));
      await Promise.all([...this.#jobs.values()].map(({ done }) => done));
      ended.abort();
      await beating;
      await this.#queue.leave(this.#name).catch(() => {});
    }
    if (this.#problem !== undefined) throw this.#problem;
    return this.#groups;
  }

  /** Until there is room for another job, or for a while where there is nothing to do. */
  async #pause(pollMs: number, signal: AbortSignal): Promise<void> {
    const timer = new AbortController();
    const waiting = setTimeout(pollMs, undefined, { signal: AbortSignal.any([signal, timer.signal]) }).catch(() => {});
    await Promise.race([waiting, ...[...this.#jobs.values()].map(({ done }) => done)]);
    timer.abort();
  }

  #start(job: LeasedJob): void {
    const stop = new AbortController();
    const done = this.#play(job, stop.signal)
      .catch((error: unknown) => {
        // the queue itself failed: nothing more can be done here
        this.#problem ??= error;
      })
      .finally(() => this.#jobs.delete(job.token));
    this.#jobs.set(job.token, { job, stop, done });
  }

  async #play(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const { onGroup } = this.#options;
    let result: Uint8Array;
    try {
      result = encodeResult(await this.#rollouts(job, signal));
    } catch (error) {
      const failure = signal.aborted ? undefined : failureText(errorText(error));
      await this.#queue.release(job, failure);
      onGroup?.(job, "given back", failure);
      return;
    }
    const isFirst = await this.#queue.finish(job, result);
    if (isFirst) this.#groups++;
    onGroup?.(job, isFirst ? "finished" : "late");
  }

  async #rollouts(job: LeasedJob, signal: AbortSignal): Promise<Rollout[]> {
    const spec = readSpec(job.spec);
    const { world, rollout = {} } = this.#worlds.get(job.world)!;
    checkNames(spec, rollout);
    const { contextLength, ...rendered } = await this.#card(spec.policy);
    const { policyVersion } = spec;
    const remote = remoteEngine(job.samplers, { contextLength, policyVersion });
    const { limits, training, sampling, attempts, task } = spec;
    const more = { ...(limits === undefined ? {} : { limits }), ...(training === undefined ? {} : { training }) };
    const played = await Promise.all(
      attempts.map(async ({ id, seed }) => {
        const policy = { ...rendered, engine: remote.engine };
        return (await world.attempt(task, policy, { ...rollout, ...sampling, ...more, id, seed, signal })).score();
      }),
    );
    signal.throwIfAborted();
    // rollouts without their sampler are nobody's doing: the group is played again
    if (remote.failure !== undefined)
      throw new LudusError("no-sampler", { got: remote.failure, expected: "a sampler that answers" });
    return played;
  }

  #card(id: string): Promise<RenderedPolicy> {
    const card =
      this.#cards.get(id) ??
      (async () => {
        const content = await this.#queue.document(id);
        if (content !== undefined) return readPolicyCard(content);
        throw new LudusError("no-policy-card", {
          got: `a job of policy ${id}`,
          expected: "a policy that was published",
        });
      })();
    this.#cards.set(id, card);
    card.catch(() => this.#cards.delete(id));
    return card;
  }

  /** Renews leases, and says that the worker is there. */
  async #beatUntil(ended: AbortSignal, leaseMs: number): Promise<void> {
    while (!ended.aborted) {
      try {
        const held = [...this.#jobs.values()].map(({ job }) => job);
        const kept = new Set((await this.#queue.renew(held, leaseMs)).map(({ token }) => token));
        for (const { token } of held) {
          if (!kept.has(token)) this.#jobs.get(token)?.stop.abort(new Error("the lease is over"));
        }
        const details = `${[...this.#worlds.keys()].join(", ")}; ${this.#jobs.size} groups under way`;
        await this.#queue.beat({ name: this.#name, kind: "worker", details, groups: this.#groups });
      } catch (error) {
        this.#problem ??= error;
      }
      await setTimeout(leaseMs / 3, undefined, { signal: ended }).catch(() => {});
    }
  }
}

/** A worker that plays otherwise than the trainer means would teach something else. */
function checkNames({ names }: JobSpec, { format, context }: NonNullable<PlayedWorld["rollout"]>): void {
  const [wanted, own] = [JSON.stringify([names.format, names.context]), JSON.stringify([format?.name, context?.name])];
  if (wanted === own) return;
  throw new LudusError("other-settings", {
    got: `a job with format and context ${wanted}, in a worker with ${own}`,
    expected: "the same in both",
    hint: "Start the worker with the training file: ludus worker train.ts --connect …",
  });
}
