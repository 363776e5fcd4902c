/**
 * Work between machines: a trainer offers jobs, workers lease, play and finish them, the trainer collects results.
 *
 *     await queue.offer("first", [{ id, world: "key-hunt", spec }], samplers);
 *     const [job] = await queue.take("worker-1", { worlds: ["key-hunt"], count: 1, leaseMs: 30_000 });
 *     await queue.renew([job], 30_000);                        // every few seconds, while it is played
 *     await queue.finish(job, result);
 *     const [done] = await queue.collect("first", [id]);       // { id, result }
 *
 * A lease that is not renewed expires, and another worker gets the job: work is done at least once. A job is finished once, by whoever
 * comes first: results are recorded exactly once. Times are the server's, so clocks of machines may differ or jump.
 */
export interface JobQueue {
  /** Offering a job again changes nothing but the samplers it names: one that is finished stays so. */
  offer(run: string, jobs: readonly Job[], samplers: readonly SamplerAddress[]): Promise<void>;
  /** Those of the jobs that are finished or have failed for good. */
  collect(run: string, ids: readonly string[]): Promise<readonly CollectedJob[]>;
  /** Forgets jobs, whatever their state. */
  forget(run: string, ids: readonly string[]): Promise<void>;
  /** The oldest that wait, and those whose leases have expired. */
  take(worker: string, options: TakeOptions): Promise<readonly LeasedJob[]>;
  /** Those that are still leased to the worker; of the others, somebody else may be working on them. */
  renew(jobs: readonly LeasedJob[], leaseMs: number): Promise<readonly LeasedJob[]>;
  /** False where somebody else was first, or nobody wants it any more. */
  finish(job: LeasedJob, result: Uint8Array): Promise<boolean>;
  /** Gives a job back at once. With a failure it counts as a try; after `maxTries` the job has failed. */
  release(job: LeasedJob, failure?: string): Promise<void>;
  /** What jobs refer to by id, because many need it: written once. */
  publish(id: string, content: string): Promise<void>;
  document(id: string): Promise<string | undefined>;
  /** Says that a member is there, and what it is doing. */
  beat(member: Member): Promise<void>;
  leave(name: string): Promise<void>;
  status(): Promise<QueueStatus>;
  close(): Promise<void>;
}

/** How often a job may fail or be lost before it has failed for good. */
export const maxTries = 5;

export interface Job {
  /** Follows from what is to be done, so that the same job offered again by a restarted trainer is the same. */
  readonly id: string;
  /** Workers take jobs of worlds they have. */
  readonly world: string;
  readonly spec: string;
}

/** Where workers sample: an engine that Ludus serves or, with `model`, a vLLM server. */
export interface SamplerAddress {
  readonly url: string;
  readonly key?: string | undefined;
  /** The model's name at a vLLM server. Where adapters called `<model>-<version>` are loaded there, as by `vllm({ url, name: <model> })`, the newest of them. */
  readonly model?: string | undefined;
  /** Whether that server was started with `--logprobs-mode processed_logprobs`. Without it, only temperature 1 is accepted. */
  readonly processedLogprobs?: boolean | undefined;
}

export interface LeasedJob extends Job {
  readonly run: string;
  readonly samplers: readonly SamplerAddress[];
  /** Tells this lease from others of the same job. */
  readonly token: number;
}

export interface TakeOptions {
  readonly worlds: readonly string[];
  readonly count: number;
  readonly leaseMs: number;
}

export interface CollectedJob {
  readonly id: string;
  readonly result?: Uint8Array;
  readonly failure?: string;
}

export interface Member {
  readonly name: string;
  readonly kind: "worker" | "sampler" | "trainer";
  readonly run?: string | undefined;
  /** Shown to people. */
  readonly details: string;
  /** Groups it has done, so far. */
  readonly groups: number;
}

export interface QueueStatus {
  readonly members: readonly (Member & {
    readonly host: string;
    readonly pid: number;
    /** Seconds since it began, and since it was last heard of. */
    readonly age: number;
    readonly silent: number;
  })[];
  readonly runs: readonly {
    readonly run: string;
    readonly waiting: number;
    readonly leased: number;
    readonly finished: number;
    readonly failed: number;
    /** Groups finished in the last ten seconds, a second. */
    readonly groupsPerSecond: number;
  }[];
}
