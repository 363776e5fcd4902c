import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Connection, workerError } from "./connection.ts";
import { type NumberedSample, NumberedSampleSchema, type SampleReply, type SampleRequestSchema } from "./engine_pb.ts";

interface Waiting {
  resolve(reply: SampleReply): void;
  reject(error: unknown): void;
}

/** What is sent in one message. */
interface Batch {
  requests: NumberedSample[];
  aborted: bigint[];
}

/**
 * Batched sample requests on one stream: requests of one tick of the event loop are one message, and so are replies that are ready
 * together. A stream that breaks fails the requests waiting on it; the next request opens another.
 */
export class SampleStream {
  readonly #connection: Connection;
  readonly #waiting = new Map<bigint, Waiting>();
  #next = 0n;
  #batch: Batch = { requests: [], aborted: [] };
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
      this.#batch.aborted.push(number);
      this.#send();
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    this.#waiting.set(number, { resolve, reject });
    this.#batch.requests.push(create(NumberedSampleSchema, { number, request }));
    if (this.#isOpen) this.#send();
    else void this.#openStream();
    return promise.finally(() => signal?.removeEventListener("abort", abort));
  }

  #send(): void {
    this.#wake?.();
  }

  async #openStream(): Promise<void> {
    this.#isOpen = true;
    const stop = new AbortController();
    try {
      const incoming = this.#connection.open("sample").sampleMany(this.#batches(stop.signal), { signal: stop.signal });
      for await (const { replies } of incoming) {
        for (const { number, reply, errorJson } of replies) {
          const waiting = this.#waiting.get(number);
          // undefined: it was aborted meanwhile
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

  /** Yields the requests and aborts of each tick, until the stream is closed. */
  async *#batches(closed: AbortSignal): AsyncGenerator<Batch> {
    while (!closed.aborted) {
      if (this.#batch.requests.length === 0 && this.#batch.aborted.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        closed.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        this.#wake = undefined;
      }
      // one tick of the event loop, so that requests made together are sent together
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#batch;
      this.#batch = { requests: [], aborted: [] };
      yield batch;
    }
  }

  async #fail(error: unknown): Promise<void> {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#batch = { requests: [], aborted: [] };
    this.#isOpen = false;
    const explained = await this.#connection.explain(error, "sample");
    for (const { reject } of lost) reject(explained);
  }
}
