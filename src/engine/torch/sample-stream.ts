import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Connection, workerError } from "./connection.ts";
import { type NumberedSample, NumberedSampleSchema, type SampleReply, type SampleRequestSchema } from "./engine_pb.ts";

interface Waiting {
  resolve(reply: SampleReply): void;
  reject(error: unknown): void;
}

interface Crowd {
  requests: NumberedSample[];
  aborted: bigint[];
}

/**
 * Requests for samples over one lasting call: those of one turn of the event loop travel together, and so do answers. A call
 * that breaks fails what was waiting; the next request opens another.
 */
export class SampleStream {
  readonly #connection: Connection;
  readonly #waiting = new Map<bigint, Waiting>();
  #next = 0n;
  #crowd: Crowd = { requests: [], aborted: [] };
  #wake: (() => void) | undefined;
  #isOpen = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  sample(request: MessageInitShape<typeof SampleRequestSchema>, signal?: AbortSignal): Promise<SampleReply> {
    const number = this.#next++;
    const { promise, resolve, reject } = Promise.withResolvers<SampleReply>();
    const abort = () => {
      if (!this.#waiting.delete(number)) return;
      this.#crowd.aborted.push(number);
      this.#send();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting.set(number, { resolve, reject });
    this.#crowd.requests.push(create(NumberedSampleSchema, { number, request }));
    if (this.#isOpen) this.#send();
    else void this.#converse();
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  #send(): void {
    this.#wake?.();
  }

  async #converse(): Promise<void> {
    this.#isOpen = true;
    const stop = new AbortController();
    try {
      const answers = this.#connection.open("sample").sampleMany(this.#crowds(stop.signal), { signal: stop.signal });
      for await (const { replies } of answers) {
        for (const { number, reply, errorJson } of replies) {
          const waiting = this.#waiting.get(number);
          // else it was aborted meanwhile
          if (waiting === undefined) continue;
          this.#waiting.delete(number);
          if (reply === undefined) waiting.reject(workerError(errorJson));
          else waiting.resolve(reply);
        }
      }
      await this.#fail(new Error("the worker ended the call"));
    } catch (error) {
      await this.#fail(error);
    } finally {
      stop.abort();
    }
  }

  /** Yields what has come together since the last time, until the call is over. */
  async *#crowds(over: AbortSignal): AsyncGenerator<Crowd> {
    while (!over.aborted) {
      if (this.#crowd.requests.length === 0 && this.#crowd.aborted.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        over.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        this.#wake = undefined;
      }
      // one turn of the event loop, for those who ask at the same time
      await new Promise((resolve) => setImmediate(resolve));
      const crowd = this.#crowd;
      this.#crowd = { requests: [], aborted: [] };
      yield crowd;
    }
  }

  async #fail(error: unknown): Promise<void> {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#crowd = { requests: [], aborted: [] };
    this.#isOpen = false;
    const explained = await this.#connection.explain(error, "sample");
    for (const { reject } of lost) reject(explained);
  }
}
