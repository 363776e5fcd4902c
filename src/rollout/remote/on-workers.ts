import { randomUUID } from "node:crypto";
import { setImmediate } from "node:timers/promises";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { postgresQueue } from "../../queue/postgres-queue.ts";
import type { Job, JobQueue, SamplerAddress } from "../../queue/queue.ts";
import type { StopReason } from "../../schema/stop-reason.ts";
import type { Task } from "../../schema/task.ts";
import type { PlayedRollout, Policy, Rollout, RolloutOptions } from "../rollout.ts";
import type { World } from "../world.ts";
import { decodeResult, type JobSpec, makeJob } from "./job.ts";
import { policyCard } from "./policy-card.ts";
import { serveSampler } from "./sampler-endpoint.ts";

export interface OnWorkersOptions {
  /** The server that has the queue: `postgres://…`, or a queue. */
  connect: string | (() => Promise<JobQueue>);
  /** Keeps jobs of several trainers on one server apart, and finds those of a trainer that was killed: the run's id. */
  run: string;
  /**
   * Where workers sample: engines that Ludus serves, or vLLM servers, whose weights the trainer's engine keeps up to date. By default the trainer
   * serves its own engine, on `host`.
   */
  samplers?: readonly SamplerAddress[];
  /** An address of this machine that workers can reach, 127.0.0.1 by default; it listens there, on `port` or a free one. */
  host?: string;
  port?: number;
  /** Results that stay in the queue after they were used, for a trainer that is killed and resumed; 4096 by default. */
  retainGroups?: number;
  /** Milliseconds between two looks for results; 20 by default. */
  pollMs?: number;
}

const knownOnWorkersOptions: KnownOptions<OnWorkersOptions> = {
  connect: true,
  run: true,
  samplers: true,
  host: true,
  port: true,
  retainGroups: true,
  pollMs: true,
};

const knownAddress: KnownOptions<SamplerAddress> = { url: true, key: true, model: true, processedLogprobs: true };

function checkSamplers(samplers: OnWorkersOptions["samplers"]): void {
  const refuse = (got: string) => {
    throw new LudusError("bad-option", {
      got,
      expected: 'one address or more, such as { url: "http://10.0.0.5:8000", model: "ludus" }',
      hint: "Leave `samplers` out: then the trainer serves its own engine.",
    });
  };
  if (samplers?.length === 0) refuse("no samplers for onWorkers");
  for (const address of samplers ?? []) {
    refuseUnknownOptions("onWorkers: samplers", address, knownAddress);
    if (!/^https?:$/.test(URL.parse(address.url)?.protocol ?? "")) refuse(`the sampler ${address.url}`);
  }
}

/** A world whose attempts are made by workers elsewhere. `local` is the world itself, which workers play. */
export interface RemoteWorld<Data = unknown> extends World<Data> {
  readonly local: World<Data>;
  /** Withdraws what is not done, ends its connections and its sampler. The next attempt opens them again. */
  release(): Promise<void>;
}

/**
 * The same world, played by the processes of `ludus worker`. Training, evaluation and the asynchronous trainer use it as any other:
 *
 *     const connect = "postgres://ludus@db.example/ludus";
 *     const env = onWorkers(keyDoor(), { connect, run: "first", host: "10.0.0.5" });
 *     await train({ env, …, run: "first", store: postgres(connect) });
 *
 * Attempts of one group become one job. Names and seeds are the trainer's, so the numbers are those of attempts made here.
 */
export function onWorkers<Data>(world: World<Data>, options: OnWorkersOptions): RemoteWorld<Data> {
  refuseUnknownOptions("onWorkers", options, knownOnWorkersOptions);
  checkSamplers(options.samplers);
  const attempts = new RemoteAttempts(world.name, options);
  return {
    ...world,
    local: world,
    attempt: (task, policy, rollout) => attempts.attempt(task, policy, rollout),
    release: async () => {
      await attempts.release();
      await world.release?.();
    },
  };
}

interface Asked {
  readonly task: Task;
  readonly policy: Policy;
  readonly options: RolloutOptions;
  readonly resolve: (rollout: Omit<Rollout, "task">) => void;
  readonly reject: (error: unknown) => void;
}

interface Waiting {
  readonly job: Job;
  readonly asked: readonly Asked[];
}

const beatMs = 5000;

class RemoteAttempts {
  readonly #world: string;
  readonly #options: OnWorkersOptions;
  readonly #name = `trainer-${randomUUID().slice(0, 8)}`;
  #asked: Asked[] = [];
  readonly #waiting = new Map<string, Waiting>();
  /** Used, the oldest first. */
  #used: string[] = [];
  #groups = 0;
  #queue: Promise<JobQueue> | undefined;
  #cards = new WeakMap<Policy["engine"], Promise<string>>();
  readonly #samplers = new Map<
    Policy["engine"],
    Promise<{ address: readonly SamplerAddress[]; close(): Promise<void> }>
  >();
  #polling: Promise<void> | undefined;
  #lastBeat = Number.NEGATIVE_INFINITY;

  constructor(world: string, options: OnWorkersOptions) {
    this.#world = world;
    this.#options = options;
  }

  async attempt<Data>(task: Task<Data>, policy: Policy, options: RolloutOptions): Promise<PlayedRollout<Data>> {
    const { signal } = options;
    const rollout = await new Promise<Omit<Rollout, "task">>((resolve, reject) => {
      if (signal?.aborted) return resolve(lost(options.id, "cancelled", "the run was stopped"));
      signal?.addEventListener("abort", () => resolve(lost(options.id, "cancelled", "the run was stopped")), {
        once: true,
      });
      this.#asked.push({ task, policy, options, resolve, reject });
      if (this.#asked.length === 1) void this.#offerSoon();
      return undefined;
    });
    return { id: rollout.id, task, stop: rollout.stop, score: async () => ({ ...rollout, task }) };
  }

  async release(): Promise<void> {
    const queue = await this.#queue;
    const left = [...this.#waiting.keys()];
    this.#waiting.clear();
    await this.#polling;
    if (left.length > 0) await queue?.forget(this.#options.run, left);
    await queue?.leave(this.#name);
    for (const sampler of this.#samplers.values()) await (await sampler).close();
    await queue?.close();
    this.#samplers.clear();
    this.#cards = new WeakMap();
    this.#queue = undefined;
    this.#lastBeat = Number.NEGATIVE_INFINITY;
  }

  /** What is asked for in the same turn of the event loop goes together. */
  async #offerSoon(): Promise<void> {
    await setImmediate();
    const asked = this.#asked;
    this.#asked = [];
    try {
      await this.#offer(asked.filter(({ options }) => options.signal?.aborted !== true));
    } catch (error) {
      for (const each of asked) each.reject(error);
    }
  }

  async #offer(asked: readonly Asked[]): Promise<void> {
    const queue = await this.#open();
    const groups = [...Map.groupBy(asked, ({ options }) => groupOf(options.id)).values()];
    for (const group of groups) {
      const [{ policy }] = group as [Asked];
      const [card, { address }] = [await this.#card(queue, policy), await this.#sampler(policy.engine)];
      const job = makeJob(this.#world, specOf(group, card));
      this.#waiting.set(job.id, { job, asked: group });
      await queue.offer(this.#options.run, [job], address);
    }
    if (this.#waiting.size === 0) return;
    this.#polling ??= this.#poll(queue).finally(() => {
      this.#polling = undefined;
    });
  }

  async #poll(queue: JobQueue): Promise<void> {
    try {
      while (this.#waiting.size > 0) {
        await this.#beat(queue);
        await this.#withdrawStopped(queue);
        for (const { id, result, failure } of await queue.collect(this.#options.run, [...this.#waiting.keys()])) {
          this.#take(id, result, failure);
        }
        await this.#forgetUsed(queue);
        await new Promise((done) => setTimeout(done, this.#options.pollMs ?? 20));
      }
    } catch (error) {
      for (const { asked } of this.#waiting.values()) for (const each of asked) each.reject(error);
      this.#waiting.clear();
    }
  }

  #take(id: string, result: Uint8Array | undefined, failure: string | undefined): void {
    const { asked } = this.#waiting.get(id) ?? { asked: [] };
    this.#waiting.delete(id);
    this.#used.push(id);
    this.#groups++;
    const rollouts = new Map<string, Omit<Rollout, "task">>();
    let problem = failure ?? "the worker's result is not whole";
    try {
      for (const rollout of result === undefined ? [] : decodeResult(result)) rollouts.set(rollout.id, rollout);
    } catch (error) {
      problem = errorText(error);
    }
    for (const { options, resolve } of asked)
      resolve(rollouts.get(options.id) ?? lost(options.id, "env-crash", problem));
  }

  /** Nobody should play for a run that was stopped. */
  async #withdrawStopped(queue: JobQueue): Promise<void> {
    const stopped = [...this.#waiting].filter(([, { asked }]) => asked.every(({ options }) => options.signal?.aborted));
    if (stopped.length === 0) return;
    for (const [id] of stopped) this.#waiting.delete(id);
    await queue.forget(
      this.#options.run,
      stopped.map(([id]) => id),
    );
  }

  async #forgetUsed(queue: JobQueue): Promise<void> {
    const { retainGroups = 4096, run } = this.#options;
    // not one by one
    if (this.#used.length <= retainGroups + Math.min(64, retainGroups / 4)) return;
    const old = this.#used.splice(0, this.#used.length - retainGroups);
    await queue.forget(run, old);
  }

  async #beat(queue: JobQueue): Promise<void> {
    if (performance.now() - this.#lastBeat < beatMs) return;
    this.#lastBeat = performance.now();
    const { run } = this.#options;
    const details = `${this.#world}, ${this.#waiting.size} groups under way`;
    await queue.beat({ name: this.#name, kind: "trainer", run, details, groups: this.#groups });
    const beat = (url: string, what: string) =>
      queue.beat({ name: url, kind: "sampler", run, details: what, groups: 0 });
    for (const { url, model } of this.#options.samplers ?? [])
      await beat(url, `named by the trainer${model === undefined ? "" : `, vLLM: ${model}`}`);
    for (const sampler of this.#samplers.values()) {
      for (const { url } of (await sampler).address) await beat(url, "the trainer's engine");
    }
  }

  #open(): Promise<JobQueue> {
    const { connect } = this.#options;
    this.#queue ??= typeof connect === "string" ? postgresQueue(connect) : connect();
    // a server that was not there yet is asked for again
    this.#queue.catch(() => {
      this.#queue = undefined;
    });
    return this.#queue;
  }

  #card(queue: JobQueue, policy: Policy): Promise<string> {
    const known = this.#cards.get(policy.engine);
    if (known !== undefined) return known;
    const published = (async () => {
      const { id, content } = policyCard(policy);
      await queue.publish(id, content);
      return id;
    })();
    this.#cards.set(policy.engine, published);
    return published;
  }

  #sampler(engine: Policy["engine"]): Promise<{ address: readonly SamplerAddress[]; close(): Promise<void> }> {
    const { samplers, host = "127.0.0.1", port = 0 } = this.#options;
    if (samplers !== undefined) return Promise.resolve({ address: samplers, close: async () => {} });
    const known = this.#samplers.get(engine);
    if (known !== undefined) return known;
    const served = serveSampler(engine, { host, port }).then(({ url, key, close }) => ({
      address: [{ url, key }],
      close,
    }));
    this.#samplers.set(engine, served);
    return served;
  }
}

/** `step-3/0/2` is an attempt of the group `step-3/0`; one that is made again, `step-3/0/2~1`, is a job of its own. */
function groupOf(id: string): string {
  return id.includes("~") ? id : id.replace(/\/\d+$/, "");
}

function specOf(asked: readonly Asked[], policy: string): JobSpec {
  const { task, options, policy: first } = asked[0]!;
  const { temperature, topP, topK, epsilonTool, limits, training, format, context } = options;
  return {
    task,
    attempts: asked.map(({ options: { id, seed } }) => ({ id, seed })),
    policy,
    policyVersion: first.engine.info.policyVersion,
    sampling: defined({ temperature, topP, topK, epsilonTool }),
    names: defined({ format: format?.name, context: context?.name }),
    ...defined({ limits: limits as Record<string, number> | undefined, training }),
  };
}

function lost(id: string, stop: StopReason, failure: string): Omit<Rollout, "task"> {
  return { id, trajectories: [], stop, failure, timing: { sampleMs: 0, totalMs: 0 } };
}
