import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isAbsolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serialize } from "node:v8";
import { errorText, LudusError } from "../../errors.ts";
import type { IsolateSetup, StartIsolate } from "./isolate.ts";
import type { IsolatedRun } from "./isolated-result.ts";
import { IsolatedWorker, type WorkerCall } from "./isolated-worker.ts";
import { checkLimits, defaultIsolatedLimits, type IsolatedLimits, retirement } from "./limits.ts";
import { startProcess } from "./process-isolate.ts";
import { startThread } from "./thread-isolate.ts";

export interface IsolatedOptions {
  /** File URL or absolute path; .ts or .js. */
  module: string | URL;
  /** The function to call, as the module exports it. */
  export: string;
  /** A process withstands everything; a thread starts sooner and takes less memory, but see `startThread`. */
  where?: "process" | "thread";
  limits?: Partial<IsolatedLimits>;
  /** At most so many workers; as many as there are cores, otherwise. */
  pool?: number;
  /** A new worker for every call, so that calls cannot touch one another. */
  fresh?: boolean;
  /** The environment variables that the module sees; none, otherwise. */
  env?: Readonly<Record<string, string>>;
}

export interface IsolatedCallOptions {
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface IsolatedStats {
  /** Workers that exist, those being ended included. */
  readonly live: number;
  readonly busy: number;
  readonly waiting: number;
  /** Workers started so far. */
  readonly started: number;
}

/** Runs one function of a module where it can be ended. Whatever it does is a result; `run` rejects misuse only. */
export interface IsolatedRunner {
  run(input: unknown, options?: IsolatedCallOptions): Promise<IsolatedRun>;
  /** Cancels what runs and what waits, and resolves when every worker is gone. */
  close(): Promise<void>;
  readonly stats: IsolatedStats;
}

interface Waiting extends WorkerCall {
  resolve(run: IsolatedRun): void;
}

/**
 * Warm workers for one function; calls beyond their number wait in the order they came.
 *
 *     const verify = isolated({ module: new URL("./verify.ts", import.meta.url), export: "verify", limits: { timeoutMs: 500 } });
 *     const run = await verify.run({ answer });
 *     if (run.kind === "returned") use(run.value);
 *     await verify.close(); // or not: idle workers do not keep the program alive
 */
export function isolated(options: IsolatedOptions): IsolatedRunner {
  const start = options.where === "thread" ? startThread : startProcess;
  const pool = options.pool ?? availableParallelism();
  if (!Number.isInteger(pool) || pool < 1) {
    throw new LudusError("invalid-pool", { got: `pool ${pool}`, expected: "a whole number of workers, 1 or more" });
  }
  return new IsolatedPool(start, toSetup(options), pool, options.fresh ?? false);
}

class IsolatedPool implements IsolatedRunner {
  readonly #start: StartIsolate;
  readonly #setup: IsolateSetup;
  readonly #size: number;
  readonly #fresh: boolean;
  readonly #live = new Set<IsolatedWorker>();
  readonly #idle = new Set<IsolatedWorker>();
  readonly #waiting = new Set<Waiting>();
  #busy = 0;
  #started = 0;
  #closed = false;

  constructor(start: StartIsolate, setup: IsolateSetup, size: number, fresh: boolean) {
    this.#start = start;
    this.#setup = setup;
    this.#size = size;
    this.#fresh = fresh;
  }

  get stats(): IsolatedStats {
    return { live: this.#live.size, busy: this.#busy, waiting: this.#waiting.size, started: this.#started };
  }

  async run(input: unknown, options: IsolatedCallOptions = {}): Promise<IsolatedRun> {
    if (this.#closed) throw new LudusError("isolated-closed", { got: "a call", expected: "an open runner" });
    const { signal, timeoutMs = this.#setup.limits.timeoutMs } = options;
    checkLimits({ timeoutMs });
    const bytes = toBytes(input);
    if (signal?.aborted) return cancelled;
    return await new Promise((resolve) => {
      const cancel = () => {
        if (this.#waiting.delete(call)) resolve(cancelled);
      };
      const call: Waiting = {
        input: bytes,
        timeoutMs,
        signal,
        resolve: (run) => {
          signal?.removeEventListener("abort", cancel);
          resolve(run);
        },
      };
      signal?.addEventListener("abort", cancel, { once: true });
      this.#waiting.add(call);
      this.#serveWaiting();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const call of this.#waiting) call.resolve(cancelled);
    this.#waiting.clear();
    const live = [...this.#live];
    for (const worker of live) worker.kill();
    await Promise.all(live.map(({ gone }) => gone));
  }

  #serveWaiting(): void {
    for (const call of this.#waiting) {
      const worker = this.#takeWorker();
      if (worker === undefined) return;
      this.#waiting.delete(call);
      void this.#serve(worker, call);
    }
  }

  #takeWorker(): IsolatedWorker | undefined {
    for (const idle of this.#idle) {
      this.#idle.delete(idle);
      if (idle.reusable) return idle; // it may have been ended since
    }
    return this.#live.size < this.#size ? this.#startWorker() : undefined;
  }

  #startWorker(): IsolatedWorker {
    const worker = new IsolatedWorker(this.#start, this.#setup);
    this.#started += 1;
    this.#live.add(worker);
    // its place is free only now: what is being ended still takes memory and time
    void worker.gone.then(() => {
      this.#live.delete(worker);
      this.#idle.delete(worker);
      this.#serveWaiting();
    });
    return worker;
  }

  async #serve(worker: IsolatedWorker, call: Waiting): Promise<void> {
    this.#busy += 1;
    const run = await worker.run(call);
    this.#busy -= 1;
    if (worker.reusable && !this.#fresh) this.#idle.add(worker);
    else worker.kill();
    call.resolve(run);
    this.#serveWaiting();
  }
}

const cancelled: IsolatedRun = { kind: "cancelled", output: "" };

function toSetup({ module, export: name, limits, env }: IsolatedOptions): IsolateSetup {
  const url = toFileUrl(module);
  const path = url?.protocol === "file:" ? fileURLToPath(url) : undefined;
  if (url === undefined || path === undefined || !existsSync(path)) {
    throw new LudusError("module-not-found", {
      got: `"${module}"`,
      expected: "the file URL or absolute path of a module that exists",
      hint: 'Write new URL("./verify.ts", import.meta.url).',
    });
  }
  const all = checkLimits({ ...defaultIsolatedLimits, ...limits });
  const retireHeapBytes = all.heapMb * 2 ** 20 * retirement.heapShare;
  return { module: url.href, export: name, env: env ?? {}, limits: all, retireHeapBytes };
}

function toFileUrl(module: string | URL): URL | undefined {
  if (module instanceof URL) return module;
  if (isAbsolute(module)) return pathToFileURL(module);
  return URL.canParse(module) ? new URL(module) : undefined;
}

function toBytes(input: unknown): Uint8Array {
  try {
    return serialize(input);
  } catch (cause) {
    throw new LudusError("input-not-serializable", {
      got: errorText(cause),
      expected: "data: no functions, no symbols",
      cause,
    });
  }
}
