import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import type { Sample } from "../engine.ts";
import { engineSampler, type SamplingEngine } from "../engine-sampler.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";
import type { SamplerCall, SamplerMethod, SamplerReply, SamplerSetup } from "./sampler-process.ts";

export interface EmbeddedSamplerOptions {
  /** Needed for stop strings. */
  tokenizer?: Tokenizer;
  /** Processor cores; all by default. */
  threads?: number;
  maxRows?: number;
  maxCacheBytes?: number;
  /** Told the id of each process that is started. */
  onStart?: (pid: number) => void;
}

const known: KnownOptions<EmbeddedSamplerOptions> = {
  tokenizer: true,
  threads: true,
  maxRows: true,
  maxCacheBytes: true,
  onStart: true,
};

/** The embedded engine in another process, which samples for a trainer: `splitEngine({ trainer, samplers: [embeddedSampler({ tokenizer })] })`. */
export function embeddedSampler(options: EmbeddedSamplerOptions = {}): Sampler {
  refuseUnknownOptions("embeddedSampler", options, known);
  return engineSampler("embedded", (weights) => SamplerProcess.open(options, weights));
}

class SamplerProcess implements SamplingEngine {
  readonly #child: ChildProcess;
  readonly #calls = new Map<number, PromiseWithResolvers<unknown>>();
  #next = 0;
  #failure: LudusError | undefined;
  #closing: Promise<void> | undefined;

  private constructor(child: ChildProcess) {
    this.#child = child;
    child.on("message", (reply: SamplerReply) => this.#settle(reply));
    child.on("exit", (code, signal) => this.#fail(`it ended with ${signal ?? `code ${code}`}`));
    child.on("error", (error) => this.#fail(error.message));
  }

  static async open(options: EmbeddedSamplerOptions, { directory }: PublishedWeights): Promise<SamplerProcess> {
    const { tokenizer, threads, maxRows, maxCacheBytes, onStart } = options;
    const extension = import.meta.url.endsWith(".ts") ? ".ts" : ".js";
    const child = fork(new URL(`./sampler-process${extension}`, import.meta.url), [], {
      serialization: "advanced",
      execArgv: [],
    });
    const opened = new SamplerProcess(child);
    if (child.pid !== undefined) onStart?.(child.pid);
    const tokenBytes =
      tokenizer && Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id));
    const setup: SamplerSetup = { folder: directory, ...defined({ threads, maxRows, maxCacheBytes, tokenBytes }) };
    try {
      await opened.#call("open", setup);
    } catch (error) {
      await opened.close();
      throw error;
    }
    return opened;
  }

  async sample(request: Parameters<SamplingEngine["sample"]>[0], signal?: AbortSignal): Promise<Sample> {
    const id = this.#next;
    const sampling = this.#call("sample", request);
    const abort = () => void this.#call("abort", { id }).catch(() => {});
    signal?.addEventListener("abort", abort, { once: true });
    try {
      return (await sampling) as Sample;
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async load(directory: string): Promise<void> {
    await this.#call("load", { directory });
  }

  async release(kept: { rollout?: string }): Promise<void> {
    await this.#call("release", kept);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#fail("it was closed");
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "exit");
    this.#child.kill("SIGKILL");
    await ended;
  }

  #call(method: SamplerMethod, argument: unknown): Promise<unknown> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    const call = this.#next++;
    const settled = Promise.withResolvers<unknown>();
    this.#calls.set(call, settled);
    this.#child.send({ call, method, argument } satisfies SamplerCall, (error) => {
      if (error) this.#fail(error.message);
    });
    return settled.promise;
  }

  #settle({ call, result, error }: SamplerReply): void {
    const waiting = this.#calls.get(call);
    this.#calls.delete(call);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new LudusError(error.code, error.details));
  }

  #fail(reason: string): void {
    this.#failure ??= new LudusError("sampler-gone", {
      got: `the sampler process ${this.#child.pid}: ${reason}`,
      expected: "a process that is running",
    });
    for (const { reject } of this.#calls.values()) reject(this.#failure);
    this.#calls.clear();
  }
}
