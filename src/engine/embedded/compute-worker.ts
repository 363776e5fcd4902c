import { Worker } from "node:worker_threads";
import { LudusError } from "../../errors.ts";
import { closedError } from "../closed-error.ts";
import type { ThreadData, ThreadMethod, ThreadReply, ThreadSetup } from "./compute-thread.ts";
import { endOfThread, startingWords, watchNativeCalls } from "./native-calls.ts";

interface PendingCall {
  method: ThreadMethod;
  resolve: (value: unknown) => void;
  reject: (error: LudusError) => void;
}

/** A compute thread as the engine sees it: a call is a message, its reply settles a promise. */
export class ComputeWorker {
  readonly #worker: Worker;
  readonly #calls = new Map<number, PendingCall>();
  readonly #exited: Promise<void>;
  #nextCall = 0;
  #ending: Promise<void> | undefined;
  #hasExited = false;
  #failure: LudusError | undefined;

  constructor(setup: ThreadSetup) {
    // built files end in .js; while developing, Node runs the TypeScript itself
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const calls = startingWords();
    this.#worker = new Worker(new URL(`./compute-thread${extension}`, import.meta.url), {
      workerData: { setup, calls } satisfies ThreadData,
      // flags of the program, such as --input-type, are not meant for the thread and can keep it from starting
      execArgv: [],
    });
    const { unwatch } = watchNativeCalls(calls);
    this.#worker.on("message", (reply: ThreadReply) => this.#settle(reply));
    this.#worker.on("error", (error) => this.#fail(error.message));
    this.#exited = new Promise((resolve) => {
      this.#worker.on("exit", (code) => {
        unwatch();
        this.#hasExited = true;
        if (this.#ending === undefined) this.#fail(`the thread ended with code ${code}`);
        resolve();
      });
    });
    this.#worker.unref();
  }

  get pending(): number {
    return this.#calls.size;
  }

  call<Result>(method: ThreadMethod, argument?: unknown): Promise<Result> {
    if (this.#ending !== undefined) return Promise.reject(closedError(method));
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const call = this.#nextCall++;
    return new Promise<Result>((resolve, reject) => {
      this.#calls.set(call, { method, resolve: resolve as (value: unknown) => void, reject });
      this.#worker.ref();
      this.#worker.postMessage({ call, method, argument });
    });
  }

  /** Takes no more calls, and waits until the thread has ended itself, which it does after the computation that it is in. */
  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    if (this.#hasExited) return;
    // an idle thread does not keep the program running, but close() waits for its end
    this.#worker.ref();
    this.#worker.postMessage(endOfThread);
    await this.#exited;
  }

  /** Rejects what was pending when the thread ended. */
  rejectPending(): void {
    for (const { method, reject } of this.#calls.values()) reject(closedError(method));
    this.#calls.clear();
  }

  #settle({ call, result, error }: ThreadReply): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (this.#calls.size === 0 && this.#ending === undefined) this.#worker.unref();
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
