import { create } from "@bufbuild/protobuf";
import type { Sample, SampleRequest } from "../engine.ts";
import type { Connection } from "./connection.ts";
import { type SampleBatch, SampleBatchSchema, SampleGroupSchema } from "./engine_pb.ts";
import { bytesOf, concatenated, optionsKey, sampleOptions, samplesOf, toSample } from "./messages.ts";

interface Waiting {
  readonly request: SampleRequest;
  resolve(sample: Sample): void;
  reject(error: unknown): void;
}

/** What is sent in one message: requests by what they have in common. */
interface Batch {
  groups: Map<string, { numbers: number[]; requests: SampleRequest[] }>;
  aborted: number[];
  released: string[];
}

const emptyBatch = (): Batch => ({ groups: new Map(), aborted: [], released: [] });

/**
 * Batched sample requests on one stream: requests of one tick of the event loop are one message, and so are replies that are ready
 * together. A stream that breaks fails the requests waiting on it; the next request opens another.
 */
export class SampleStream {
  readonly #connection: Connection;
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;
  #batch = emptyBatch();
  #wake: (() => void) | undefined;
  #isOpen = false;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    const number = this.#next;
    // as int32 on the way; no request waits for so many others
    this.#next = (this.#next + 1) & 0x7fffffff;
    return new Promise((resolve, reject) => {
      const abort = () => {
        if (!this.#waiting.delete(number)) return;
        this.#batch.aborted.push(number);
        this.#send();
        reject(signal?.reason);
      };
      const unless = <T>(settle: (value: T) => void) =>
        signal === undefined
          ? settle
          : (value: T) => {
              signal.removeEventListener("abort", abort);
              settle(value);
            };
      signal?.addEventListener("abort", abort, { once: true });
      this.#waiting.set(number, { request, resolve: unless(resolve), reject: unless(reject) });
      const key = optionsKey(request);
      const group = this.#batch.groups.get(key);
      if (group === undefined) this.#batch.groups.set(key, { numbers: [number], requests: [request] });
      else {
        group.numbers.push(number);
        group.requests.push(request);
      }
      this.#send();
    });
  }

  /** Nobody waits for it: the worker frees the KV cache when it reads the message, and idle ones anyway when it needs room. */
  release(rollout: string): void {
    this.#batch.released.push(rollout);
    this.#send();
  }

  #send(): void {
    if (this.#isOpen) this.#wake?.();
    else void this.#openStream();
  }

  async #openStream(): Promise<void> {
    this.#isOpen = true;
    const stop = new AbortController();
    try {
      const incoming = this.#connection.open("sample").sampleMany(this.#batches(stop.signal), { signal: stop.signal });
      for await (const reply of incoming) {
        for (const [number, sample] of samplesOf(reply)) this.#take(number)?.resolve(sample);
        for (const { number, reply: other, errorJson } of reply.others) {
          const waiting = this.#take(number);
          if (other === undefined)
            void this.#connection.told(errorJson, "sample").then((error) => waiting?.reject(error));
          else waiting?.resolve(toSample(other, waiting.request));
        }
      }
      await this.#fail(new Error("the worker ended the call"));
    } catch (error) {
      await this.#fail(error);
    } finally {
      stop.abort();
    }
  }

  /** Undefined where it was aborted meanwhile. */
  #take(number: number): Waiting | undefined {
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    return waiting;
  }

  /** Yields the requests, aborts and releases of each tick, until the stream is closed. */
  async *#batches(closed: AbortSignal): AsyncGenerator<SampleBatch> {
    while (!closed.aborted) {
      const { groups, aborted, released } = this.#batch;
      if (groups.size === 0 && aborted.length === 0 && released.length === 0) {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        closed.addEventListener("abort", () => resolve(), { once: true });
        await promise;
        this.#wake = undefined;
      }
      // one tick of the event loop, so that requests made together are sent together
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#batch;
      this.#batch = emptyBatch();
      yield batchMessage(batch);
    }
  }

  async #fail(error: unknown): Promise<void> {
    const lost = [...this.#waiting.values()];
    this.#waiting.clear();
    this.#batch = emptyBatch();
    this.#isOpen = false;
    const explained = await this.#connection.explain(error, "sample");
    for (const { reject } of lost) reject(explained);
  }
}

function batchMessage({ groups, aborted, released }: Batch): SampleBatch {
  return create(SampleBatchSchema, {
    groups: Array.from(groups.values(), ({ numbers, requests }) =>
      create(SampleGroupSchema, {
        options: sampleOptions(requests[0]),
        numbers: bytesOf(Int32Array.from(numbers)),
        lengths: bytesOf(Int32Array.from(requests, ({ tokens }) => tokens.length)),
        tokens: bytesOf(concatenated(requests.map(({ tokens }) => tokens))),
        maxTokens: bytesOf(Int32Array.from(requests, ({ maxTokens }) => maxTokens)),
        seeds: bytesOf(Float64Array.from(requests, ({ seed }) => seed)),
        rollouts: requests.map(({ rollout = "" }) => rollout),
      }),
    ),
    aborted: bytesOf(Int32Array.from(aborted)),
    released,
  });
}
