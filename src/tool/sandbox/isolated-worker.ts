import { deserialize } from "node:v8";
import { toErrorData } from "./error-data.ts";
import type { Isolate, IsolateAnswer, IsolateEnd, IsolateMessage, IsolateSetup, StartIsolate } from "./isolate.ts";
import { retirement } from "./limits.ts";
import type { FunctionEnd, FunctionEnded } from "./sandbox.ts";

export interface WorkerCall {
  args: Uint8Array;
  timeoutMs: number;
  signal: AbortSignal | undefined;
}

/**
 * One worker and the call it is serving. A call ends once, by whatever comes first: its answer, the end of the worker, a
 * limit, the signal. Only its timer keeps the program alive.
 */
export class IsolatedWorker {
  readonly gone: Promise<void>;
  readonly #isolate: Isolate;
  readonly #setup: IsolateSetup;
  #state: "starting" | "ready" | "unusable" | "gone" = "starting";
  #served = 0;
  #printed = "";
  #printedBytes = 0;
  #serving: { call: WorkerCall; finish: (result: FunctionEnd) => void } | undefined;
  #timer: NodeJS.Timeout | undefined;
  #onGone: () => void = () => {};

  constructor(start: StartIsolate, setup: IsolateSetup) {
    this.#setup = setup;
    this.gone = new Promise((resolve) => {
      this.#onGone = resolve;
    });
    this.#isolate = start(setup, {
      message: (message) => this.#onMessage(message),
      output: (text) => this.#onOutput(text),
      ended: (end) => this.#onEnded(end),
    });
  }

  get reusable(): boolean {
    return this.#state === "ready";
  }

  run(call: WorkerCall): Promise<FunctionEnded> {
    return new Promise((resolve) => {
      const cancel = () => this.#stop({ kind: "cancelled" });
      const finish = (result: FunctionEnd) => {
        this.#serving = undefined;
        clearTimeout(this.#timer);
        call.signal?.removeEventListener("abort", cancel);
        resolve({ ...result, output: this.#takePrinted() });
      };
      this.#serving = { call, finish };
      call.signal?.addEventListener("abort", cancel);
      if (this.#state === "ready") this.#send(call);
      else this.#limitTime(this.#setup.limits.startMs);
    });
  }

  /** Ends the worker, and the call it is serving as cancelled. */
  kill(): void {
    this.#stop({ kind: "cancelled" });
  }

  #send(call: WorkerCall): void {
    this.#served += 1;
    this.#limitTime(call.timeoutMs);
    this.#isolate.send({ call: this.#served, args: call.args });
  }

  #limitTime(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#stop({ kind: "timeout", afterMs }), afterMs);
  }

  #stop(result: FunctionEnd): void {
    if (this.#state !== "gone") {
      this.#state = "unusable";
      this.#isolate.kill();
    }
    this.#serving?.finish(result);
  }

  #onMessage(message: IsolateMessage): void {
    switch (message.type) {
      case "ready":
        if (this.#state === "starting") this.#state = "ready";
        if (this.#serving !== undefined) this.#send(this.#serving.call);
        return;
      case "output":
        this.#onOutput(message.text);
        return;
      case "load-failed":
        this.#stop({ kind: "not-started", ...message.error });
        return;
      case "output-limit":
        this.#stop({ kind: "output-limit", bytes: message.bytes });
        return;
      case "retire":
        this.#retire();
        return;
      case "returned":
        if (message.call === this.#served) this.#onAnswer(message.retire, toReturned(message.value));
        return;
      case "threw":
        if (message.call === this.#served) this.#onAnswer(message.retire, { kind: "threw", ...message.error });
        return;
      default:
        message satisfies never;
    }
  }

  #onAnswer(retire: boolean, result: FunctionEnd): void {
    if (retire || this.#served >= retirement.afterCalls) this.#state = "unusable";
    this.#serving?.finish(result);
  }

  /** Not to be used again; a call it is serving may go on. */
  #retire(): void {
    if (this.#state !== "gone") this.#state = "unusable";
    if (this.#serving === undefined) this.kill();
  }

  #onOutput(text: string): void {
    const { outputBytes } = this.#setup.limits;
    this.#printedBytes += Buffer.byteLength(text);
    if (this.#printedBytes <= outputBytes) this.#printed += text;
    else this.#stop({ kind: "output-limit", bytes: this.#printedBytes });
  }

  #onEnded(end: IsolateEnd): void {
    this.#state = "gone";
    const { heapMb } = this.#setup.limits;
    this.#serving?.finish(end.kind === "out-of-memory" ? { ...end, limitMb: heapMb } : end);
    this.#onGone();
  }

  #takePrinted(): string {
    const printed = this.#printed;
    this.#printed = "";
    this.#printedBytes = 0;
    return printed;
  }
}

function toReturned(bytes: Uint8Array): FunctionEnd {
  try {
    const answer: IsolateAnswer = deserialize(bytes);
    return answer.length === 1
      ? { kind: "returned", value: answer[0] }
      : { kind: "returned", value: answer[0], state: answer[1] };
  } catch (error) {
    return { kind: "threw", ...toErrorData(error) };
  }
}
