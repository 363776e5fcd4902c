import { setImmediate as nextTurn } from "node:timers/promises";
import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import type { OptimizerOptions, SampleRequest } from "../engine.ts";
import type { ModelConfig } from "../model/model-config.ts";
import { adamw, type Range, reduceGradients, type TrainState } from "./adamw.ts";
import type { Decoder } from "./decoder.ts";
import { decodingPiece, type TrainingGraphOptions } from "./graphs.ts";
import { KernelDecoder } from "./kernel-decoder.ts";
import type { CompiledKernels } from "./kernels/compile-kernels.ts";
import { addressableBytes, KernelMemory } from "./kernels/kernel-memory.ts";
import { type KernelShape, kernelShape } from "./kernels/kernel-shape.ts";
import { Kernels } from "./kernels/kernels.ts";
import { PackedWeights } from "./kernels/packed-weights.ts";
import { type CallWords, countNativeCalls, endOfThread } from "./native-calls.ts";
import { type Rotation, rotationOf } from "./rotation.ts";
import { maxStepTokens, Sampler } from "./sampler.ts";
import { type Feeds, floats, openSession, takesSharedMemory } from "./session.ts";
import { SessionDecoder } from "./session-decoder.ts";
import { KernelTrainer } from "./training/kernel-trainer.ts";
import type { CompiledTraining } from "./training/training-kernels.ts";
import { TrainingThread, type WorkBatch, type WorkOptions } from "./training-thread.ts";
import { slice, type WeightLayout, weightLayout } from "./weights.ts";

/** What a compute thread is started with. */
export interface ThreadSetup {
  config: ModelConfig;
  valueHead: boolean;
  intraThreads: number;
  kernels: CompiledKernels;
  /** What decodes, on `intraThreads` cores: WebAssembly kernels, or ONNX Runtime sessions. */
  decoding: "kernels" | "sessions";
  /** What trains: these kernels, or ONNX Runtime sessions. */
  training: CompiledTraining | undefined;
  maxCacheBytes: number;
  maxRows: number;
  recompute: TrainingGraphOptions["recompute"] | "automatic";
  tokenBytes: readonly Uint8Array[] | undefined;
}

type Shared = Float32Array<SharedArrayBuffer>;

/**
 * KV cache of a decode group, so that it stays in a core's share of the processor's cache beside the weights: of 2 to 12 MiB, 3 were fastest on a
 * processor with 4 MiB per core, and faster than 8 on one with 16. Larger models read their weights from memory at each step, so more rows a
 * step are better; the same goes for sessions, whose calls cost the same for few rows.
 */
const decodeGroupBytes = 3 * 2 ** 20;
const cachedWeightBytes = 6 * 2 ** 20;
/** Room for this many sets of weights, or half of all, is kept free of KV cache in the memory that kernels can address. */
const reservedSets = 16;

export interface Work {
  weights: string;
  /** Micro-batches; each is computed in one run. */
  batches: readonly WorkBatch[];
  options: WorkOptions;
}

interface Resumed {
  changed: readonly string[];
  version: number | undefined;
  caches: OptimizerOptions["caches"];
}

interface NamedWeights {
  all: Shared;
  version: number;
  /** What sessions read: the same memory, or a copy where they cannot. */
  readable: Float32Array;
  isCurrent: boolean;
  feeds: Feeds;
}

/** The calls that a thread serves, in the order they are made except for `sample`. */
export class ComputeThread {
  readonly #setup: ThreadSetup;
  readonly #layout: WeightLayout;
  readonly #weights = new Map<string, NamedWeights>();
  readonly #training: TrainingThread;
  #trainer: KernelTrainer | undefined;
  readonly #rotation: Rotation;
  readonly #samples = new Map<number, { resolve: (value: unknown) => void; reject: (error: unknown) => void }>();
  #sampler: Promise<Sampler> | undefined;

  constructor(setup: ThreadSetup) {
    this.#setup = setup;
    const { config, valueHead, intraThreads, recompute } = setup;
    this.#layout = weightLayout(config, valueHead);
    this.#rotation = rotationOf(config);
    this.#training = new TrainingThread({
      config,
      valueHead,
      layout: this.#layout,
      rotation: this.#rotation,
      intraThreads,
      recompute,
    });
  }

  async setWeights({ name, all, version }: { name: string; all: Shared; version: number }): Promise<void> {
    const { slices, joined } = this.#layout;
    const readable = (await takesSharedMemory()) ? all : new Float32Array(all.length);
    const feeds: Feeds = {};
    for (const parameter of [...slices, ...joined])
      feeds[parameter.name] = floats(slice(readable, parameter), parameter.shape);
    this.#weights.set(name, { all, version, readable, isCurrent: readable === all, feeds });
  }

  /** The weights of a name for a session. */
  #feeds(name: string): Feeds {
    const weights = this.#weights.get(name)!;
    if (!weights.isCurrent) weights.readable.set(weights.all);
    weights.isCurrent = true;
    return weights.feeds;
  }

  async forgetWeights({ name }: { name: string }): Promise<void> {
    this.#weights.delete(name);
    (await this.#sampler)?.forgetWeights(name);
  }

  async forward({ weights, batches, options }: Work): Promise<unknown> {
    const feeds = this.#feeds(weights);
    const results = [];
    for (const batch of batches) results.push(await this.#training.forward(feeds, batch, options));
    return results;
  }

  async backward({
    weights,
    batches,
    options,
    gradient,
    isFirst,
  }: Work & { gradient: Shared; isFirst: boolean }): Promise<void> {
    const trainer = this.#openTrainer();
    if (trainer !== undefined) {
      const { all } = this.#weights.get(weights)!;
      trainer.begin(all);
      for (const batch of batches) {
        trainer.add(all, batch, options);
        // what is sampled meanwhile takes its turns
        await nextTurn();
      }
      trainer.finish(gradient, isFirst);
      return;
    }
    const feeds = this.#feeds(weights);
    for (const [index, batch] of batches.entries()) {
      await this.#training.backward(feeds, batch, options, gradient, isFirst && index === 0);
    }
  }

  #openTrainer(): KernelTrainer | undefined {
    const { config, valueHead, training: compiled } = this.#setup;
    if (compiled !== undefined)
      this.#trainer ??= new KernelTrainer({
        config,
        valueHead,
        layout: this.#layout,
        rotation: this.#rotation,
        compiled,
      });
    return this.#trainer;
  }

  async reduce({ gradients, range }: { gradients: readonly Shared[]; range: Range }): Promise<number> {
    return reduceGradients(gradients, range);
  }

  async adamw({
    state,
    gradient,
    range,
    options,
  }: {
    state: TrainState;
    gradient: Shared;
    range: Range;
    options: OptimizerOptions & { step: number; gradientScale: number };
  }): Promise<void> {
    adamw(state, gradient, this.#layout, range, options);
  }

  async sample({ id, request }: { id: number; request: SampleRequest }): Promise<unknown> {
    const sampler = await this.#openSampler();
    return await new Promise((resolve, reject) => {
      this.#samples.set(id, { resolve, reject });
      sampler.add(id, request);
    });
  }

  async abort({ id }: { id: number }): Promise<void> {
    (await this.#sampler)?.abort(id);
    this.#samples.get(id)?.resolve(undefined);
    this.#samples.delete(id);
  }

  async release({ rollout }: { rollout: string }): Promise<void> {
    (await this.#sampler)?.release(rollout);
  }

  async hold(): Promise<void> {
    await (await this.#sampler)?.hold();
  }

  async resume({ changed, version, caches }: Resumed): Promise<void> {
    for (const name of changed) {
      const weights = this.#weights.get(name);
      if (weights === undefined) continue;
      weights.version = version ?? weights.version;
      weights.isCurrent = weights.readable === weights.all;
    }
    this.#trainer?.forget();
    (await this.#sampler)?.resume(changed, caches);
  }

  #openSampler(): Promise<Sampler> {
    this.#sampler ??= this.#makeSampler();
    return this.#sampler;
  }

  async #makeSampler(): Promise<Sampler> {
    const { config, kernels: compiled, decoding, intraThreads, maxCacheBytes, maxRows, tokenBytes } = this.#setup;
    const shape = kernelShape(config);
    const memory = new KernelMemory({ shared: compiled.isShared });
    const weightBytes = PackedWeights.size(shape);
    const reserved = decoding === "kernels" ? Math.min(reservedSets * weightBytes, addressableBytes / 2) : 0;
    const usesDecodeGroups = decoding === "kernels" && weightBytes <= cachedWeightBytes;
    const limits = { stepTokens: maxStepTokens(maxRows), logitRows: decoding === "kernels" ? maxRows : 0 };
    const threads = decoding === "kernels" ? intraThreads : 1;
    const kernels = new Kernels(shape, { module: compiled.module, memory, ...limits, threads });
    return new Sampler({
      shape,
      memory,
      decoder: await this.#makeDecoder(shape, kernels, memory),
      decodeGroupBytes: usesDecodeGroups ? decodeGroupBytes : Number.POSITIVE_INFINITY,
      rotation: this.#rotation,
      maxCacheBytes: Math.min(maxCacheBytes, addressableBytes - reserved),
      maxRows,
      tokenBytes,
      version: (name) => this.#weights.get(name)!.version,
      finish: (id, result) => {
        const sample = this.#samples.get(id);
        this.#samples.delete(id);
        if (result instanceof LudusError) sample?.reject(result);
        else sample?.resolve(result);
      },
    });
  }

  async #makeDecoder(shape: KernelShape, kernels: Kernels, memory: KernelMemory): Promise<Decoder> {
    const { config, decoding, intraThreads, kernels: compiled } = this.#setup;
    if (decoding === "kernels") {
      const weights = (name: string) => this.#weights.get(name)!.all;
      const threads = intraThreads;
      return new KernelDecoder({ shape, compiled, memory, kernels, threads, layout: this.#layout, weights });
    }
    const pieces = await Promise.all(
      Array.from({ length: config.layers + 1 }, (_, piece) => openSession(decodingPiece(config, piece), intraThreads)),
    );
    return new SessionDecoder({ shape, kernels, memory, pieces, weights: (name) => this.#feeds(name) });
  }
}

export type ThreadMethod = Exclude<keyof ComputeThread, "constructor">;

export interface ThreadCall {
  call: number;
  method: ThreadMethod;
  argument: unknown;
}

export interface ThreadReply {
  call: number;
  result?: unknown;
  error?: { code: string; got: string; expected: string; hint?: string };
}

export interface ThreadData {
  setup: ThreadSetup;
  calls: CallWords;
}

function serve(port: MessagePort, thread: ComputeThread): void {
  port.on("message", (message: ThreadCall | typeof endOfThread) => {
    if (message === endOfThread) process.exit(0);
    const { call, method, argument } = message;
    const run = thread[method].bind(thread) as (argument: unknown) => Promise<unknown>;
    run(argument).then(
      (result) => port.postMessage({ call, result } satisfies ThreadReply),
      (error: unknown) => port.postMessage({ call, error: describe(error) } satisfies ThreadReply),
    );
  });
}

function describe(error: unknown): NonNullable<ThreadReply["error"]> {
  if (error instanceof LudusError) {
    const { got, expected, hint } = error.details;
    return { code: error.code, got, expected, ...defined({ hint }) };
  }
  const got = errorText(error);
  return { code: "engine-failed", got, expected: "a computation without errors" };
}

if (parentPort !== null) {
  const { setup, calls } = workerData as ThreadData;
  countNativeCalls(calls);
  serve(parentPort, new ComputeThread(setup));
}
