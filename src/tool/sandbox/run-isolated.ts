import { existsSync } from "node:fs";
import { availableParallelism } from "node:os";
import { isAbsolute } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { serialize } from "node:v8";
import { errorText, LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { IsolateArgs, IsolateSetup, StartIsolate } from "./isolate.ts";
import { IsolatedWorker, type WorkerCall } from "./isolated-worker.ts";
import { checkLimits, defaultIdleMs, defaultIsolatedLimits, type IsolatedLimits, retirement } from "./limits.ts";
import { startProcess } from "./process-isolate.ts";
import type { FunctionCallOptions, FunctionEnded, FunctionRunner, SandboxLevel } from "./sandbox.ts";
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
  /** A worker without a call for so long is ended; the next call starts another. 30,000, otherwise. */
  idleMs?: number;
  /** The environment variables that the module sees; none, otherwise. */
  env?: Readonly<Record<string, string>>;
}

const knownIsolatedOptions: KnownOptions<IsolatedOptions> = {
  module: true,
  export: true,
  where: true,
  limits: true,
  pool: true,
  fresh: true,
  idleMs: true,
  env: true,
};

export interface IsolatedStats {
  /** Workers that exist, those being ended included. */
  readonly live: number;
  readonly busy: number;
  readonly waiting: number;
  /** Workers started so far. */
  readonly started: number;
}

/** Runs one function of a module in a worker. */
export interface IsolatedRunner extends FunctionRunner {
  readonly stats: IsolatedStats;
}

interface Waiting extends WorkerCall {
  resolve(run: FunctionEnded): void;
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
  refuseUnknownOptions("isolated", options, knownIsolatedOptions);
  const { where: level = "process", fresh = false, idleMs = defaultIdleMs } = options;
  checkLimits({ idleMs });
  const pool = options.pool ?? availableParallelism();
  if (!Number.isInteger(pool) || pool < 1) {
    throw new LudusError("invalid-pool", { got: `pool ${pool}`, expected: "a whole number of workers, 1 or more" });
  }
  const start = level === "thread" ? startThread : startProcess;
  return new IsolatedPool({ start, level, setup: toSetup(options), size: pool, fresh, idleMs });
}

interface PoolOptions {
  start: StartIsolate;
  level: SandboxLevel;
  setup: IsolateSetup;
  size: number;
  fresh: boolean;
  idleMs: number;
}

class IsolatedPool implements IsolatedRunner {
  readonly #options: PoolOptions;
  readonly #live = new Set<IsolatedWorker>();
  /** Each with the timer that ends it. The one used last is taken first, so that the others can shrink away. */
  readonly #idle = new Map<IsolatedWorker, NodeJS.Timeout>();
  readonly #waiting = new Set<Waiting>();
  #busy = 0;
  #started = 0;
  #closed = false;

  constructor(options: PoolOptions) {
    this.#options = options;
  }

  get level(): SandboxLevel {
    return this.#options.level;
  }

  get stats(): IsolatedStats {
    return { live: this.#live.size, busy: this.#busy, waiting: this.#waiting.size, started: this.#started };
  }

  async run(input: unknown, options: FunctionCallOptions = {}): Promise<FunctionEnded> {
    if (this.#closed) throw new LudusError("isolated-closed", { got: "a call", expected: "an open runner" });
    const { signal, timeoutMs = this.#options.setup.limits.timeoutMs } = options;
    checkLimits({ timeoutMs });
    const args = toBytes("state" in options ? [input, { state: options.state }] : [input]);
    if (signal?.aborted) return cancelled;
    return await new Promise((resolve) => {
      const cancel = () => {
        if (this.#waiting.delete(call)) resolve(cancelled);
      };
      const call: Waiting = {
        args,
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
    for (const idle of [...this.#idle.keys()].reverse()) {
      this.#forgetIdle(idle);
      if (idle.reusable) return idle; // it may have been ended since
    }
    return this.#live.size < this.#options.size ? this.#startWorker() : undefined;
  }

  #startWorker(): IsolatedWorker {
    const worker = new IsolatedWorker(this.#options.start, this.#options.setup);
    this.#started += 1;
    this.#live.add(worker);
    // its place is free only now: what is being ended still takes memory and time
    void worker.gone.then(() => {
      this.#live.delete(worker);
      this.#forgetIdle(worker);
      this.#serveWaiting();
    });
    return worker;
  }

  #keepIdle(worker: IsolatedWorker): void {
    const timer = setTimeout(() => {
      this.#forgetIdle(worker);
      worker.kill();
    }, this.#options.idleMs);
    this.#idle.set(worker, timer.unref());
  }

  #forgetIdle(worker: IsolatedWorker): void {
    clearTimeout(this.#idle.get(worker));
    this.#idle.delete(worker);
  }

  async #serve(worker: IsolatedWorker, call: Waiting): Promise<void> {
    this.#busy += 1;
    const run = await worker.run(call);
    this.#busy -= 1;
    if (worker.reusable && !this.#options.fresh && !this.#closed) this.#keepIdle(worker);
    else worker.kill();
    call.resolve(run);
    this.#serveWaiting();
  }
}

const cancelled: FunctionEnded = { kind: "cancelled", output: "" };

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
  const all = checkLimits({ ...defaultIsolatedLimits, ...limits }, Object.keys(defaultIsolatedLimits));
  const retireHeapBytes = all.heapMb * 2 ** 20 * retirement.heapShare;
  return { module: url.href, export: name, env: env ?? {}, limits: all, retireHeapBytes };
}

function toFileUrl(module: string | URL): URL | undefined {
  if (module instanceof URL) return module;
  if (isAbsolute(module)) return pathToFileURL(module);
  return URL.canParse(module) ? new URL(module) : undefined;
}

function toBytes(args: IsolateArgs): Uint8Array {
  try {
    return serialize(args);
  } catch (cause) {
    throw new LudusError("input-not-serializable", {
      got: errorText(cause),
      expected: "data: no functions, no symbols",
      cause,
    });
  }
}
