import { closedError } from "../closed-error.ts";
import type { OptimizerOptions } from "../engine.ts";
import type { ThreadMethod, ThreadSetup } from "./compute-thread.ts";
import { ComputeWorker } from "./compute-worker.ts";

/** The compute threads of an engine. Each has sessions and caches of its own; weights and gradients are shared memory. */
export class ComputePool {
  readonly workers: readonly ComputeWorker[];
  readonly #rollouts = new Map<string, ComputeWorker>();
  #queue: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(setup: ThreadSetup, count: number) {
    this.workers = Array.from({ length: count }, () => new ComputeWorker(setup));
  }

  /** The same call on every thread. */
  all<Result>(method: ThreadMethod, argument?: unknown): Promise<Result[]> {
    return Promise.all(this.workers.map((worker) => worker.call<Result>(method, argument)));
  }

  /** One call per thread, each with its own argument; threads without one are idle. */
  async each<Argument, Result>(
    method: ThreadMethod,
    argumentsOf: readonly (Argument | undefined)[],
  ): Promise<(Result | undefined)[]> {
    return await Promise.all(
      argumentsOf.map((argument, i) =>
        argument === undefined ? undefined : this.workers[i].call<Result>(method, argument),
      ),
    );
  }

  /** The thread with a rollout's KV cache, or else the one with the fewest pending calls. */
  forRollout(rollout: string | undefined): ComputeWorker {
    const known = rollout === undefined ? undefined : this.#rollouts.get(rollout);
    if (known !== undefined) return known;
    const idlest = this.workers.reduce((least, other) => (other.pending < least.pending ? other : least));
    if (rollout !== undefined) this.#rollouts.set(rollout, idlest);
    return idlest;
  }

  async releaseRollout(rollout: string): Promise<void> {
    const worker = this.#rollouts.get(rollout);
    this.#rollouts.delete(rollout);
    await worker?.call("release", { rollout });
  }

  /** Runs everything but sampling in sequence. What waits for its turn when the pool is closed does not begin. */
  exclusive<Result>(call: string, work: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(async () => {
      this.checkOpen(call);
      try {
        return await work();
      } catch (error) {
        // of the thread's part of it
        this.checkOpen(call);
        throw error;
      }
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  checkOpen(call: string): void {
    if (this.isClosed) throw closedError(call);
  }

  /** Changes weights while no thread reads them. Caches made with the old ones are dropped, or kept; `change` gives the new version. */
  async whileHeld(
    changed: readonly string[],
    change: () => Promise<number>,
    caches: OptimizerOptions["caches"] = "recompute",
  ): Promise<void> {
    await this.all("hold");
    let version: number | undefined;
    try {
      version = await change();
    } finally {
      await this.all("resume", { changed, version, caches });
    }
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  /** Waits for the threads, which end after the computation that they are in, then rejects what is pending. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.end()));
    // at once, and just before close() resolves: whoever awaits it first can still take the rejections
    for (const worker of this.workers) worker.rejectPending();
  }
}
