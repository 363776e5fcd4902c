import { Worker } from "node:worker_threads";
import { LudusError } from "../../errors.ts";
import type { ThreadMethod, ThreadReply, ThreadSetup } from "./compute-thread.ts";

/** A compute thread as the engine sees it: a call is a message, its reply settles a promise. */
export class ComputeWorker {
  readonly #worker: Worker;
  readonly #calls = new Map<number, { resolve: (value: unknown) => void; reject: (error: LudusError) => void }>();
  #nextCall = 0;
  #isClosing = false;
  #failure: LudusError | undefined;

  constructor(setup: ThreadSetup) {
    // built files end in .js; while developing, Node runs the TypeScript itself
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    this.#worker = new Worker(new URL(`./compute-thread${extension}`, import.meta.url), {
      workerData: setup,
      // flags of the program, such as --input-type, are not meant for the thread and can keep it from starting
      execArgv: [],
    });
    this.#worker.on("message", (reply: ThreadReply) => this.#settle(reply));
    this.#worker.on("error", (error) => this.#fail(error.message));
    this.#worker.on("exit", (code) => this.#fail(`the thread ended with code ${code}`));
    this.#worker.unref();
  }

  get pending(): number {
    return this.#calls.size;
  }

  call<Result>(method: ThreadMethod, argument?: unknown): Promise<Result> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const call = this.#nextCall++;
    return new Promise<Result>((resolve, reject) => {
      this.#calls.set(call, { resolve: resolve as (value: unknown) => void, reject });
      this.#worker.ref();
      this.#worker.postMessage({ call, method, argument });
    });
  }

  async close(): Promise<void> {
    this.#failure ??= new LudusError("engine-closed", {
      got: "a call",
      expected: "an open engine",
      hint: "close() was called.",
    });
    // an idle thread does not keep the program running, but close() waits for its end, whatever replies still come
    this.#isClosing = true;
    this.#worker.ref();
    await this.#worker.terminate();
  }

  #settle({ call, result, error }: ThreadReply): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (this.#calls.size === 0 && !this.#isClosing) this.#worker.unref();
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new LudusError(error.code, error));
  }

  #fail(reason: string): void {
    this.#failure ??= new LudusError("engine-failed", {
      got: reason,
      expected: "a running compute thread",
      hint: "Its memory may have run out: lower `maxCacheBytes` or `microBatchTokens`, then load the last checkpoint.",
    });
    for (const { reject } of this.#calls.values()) reject(this.#failure);
    this.#calls.clear();
  }
}
