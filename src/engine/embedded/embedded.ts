import { freemem } from "node:os";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch, noAdapter } from "../check-request.ts";
import {
  type Derivatives,
  type Engine,
  type EngineInfo,
  type Forward,
  type ForwardOptions,
  type LoadOptions,
  type OptimizerOptions,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SaveOptions,
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
} from "../engine.ts";
import { checkModelConfig, type ModelConfig } from "../model/model-config.ts";
import { readModelFolder, writeModelFolder } from "../model/model-folder.ts";
import { checkRopeLength } from "../model/rope.ts";
import { ComputePool } from "./compute-pool.ts";
import type { ThreadSetup, Work } from "./compute-thread.ts";
import { compileKernels } from "./kernels/compile-kernels.ts";
import { kernelShape } from "./kernels/kernel-shape.ts";
import { PackedWeights } from "./kernels/packed-weights.ts";
import { type MicroBatch, planMicroBatches } from "./micro-batches.ts";
import { threadsOfProcess } from "./threads-of-process.ts";
import { compileTraining } from "./training/compile-training.ts";
import { canTrainInKernels } from "./training/kernel-trainer.ts";
import type { RowNumbers, WorkBatch, WorkRow } from "./training-thread.ts";
import { WeightSets } from "./weight-sets.ts";
import { initialiseWeights, readWeights, sharedFloats, type WeightLayout, weightLayout } from "./weights.ts";
import { backwardRow, forwardRow, joinNumbers } from "./work-rows.ts";

export interface EmbeddedOptions {
  /** A preset such as `models.small({ vocabularySize })`, any config of the family, or nothing with `folder`. */
  model?: ModelConfig;
  /** A Hugging Face folder to start from. */
  folder?: string;
  /** Saved with the model; needed for stop strings. */
  tokenizer?: Tokenizer;
  valueHead?: boolean;
  /** For the initial weights. */
  seed?: number;
  /** Processor cores to use; by default those that LUDUS_THREADS allows this process, or all. */
  threads?: number;
  /** Limit of the KV caches of all threads together; a quarter of the free memory by default. */
  maxCacheBytes?: number;
  /** Sequences decoded concurrently, all threads together. */
  maxRows?: number;
  /** Padded tokens computed at once by one thread while training: more is faster up to a point and takes more memory. */
  microBatchTokens?: number;
  /** What the backward pass computes again instead of keeping it. Kernels, which train small models, decide it themselves, but for "layers". */
  recompute?: ThreadSetup["recompute"];
}

const knownEmbeddedOptions: KnownOptions<EmbeddedOptions> = {
  model: true,
  folder: true,
  tokenizer: true,
  valueHead: true,
  seed: true,
  threads: true,
  maxCacheBytes: true,
  maxRows: true,
  microBatchTokens: true,
  recompute: true,
};

const defaultMicroBatchTokens = 1152;

/** Models up to this size are data parallel over threads, each with rows of its own; in larger ones each product is split over the cores. */
const maxDataParallelParameters = 12_000_000;

/** V8 13, in Node 24, has fused multiply-add; in Node 22 kernels had half the speed, and ONNX Runtime is faster. */
const hasFusedVectors = Number.parseInt(process.versions.v8, 10) >= 13;

/** Larger sets of weights are not packed for kernels: two of them and the KV cache share what 32 bits address. */
const maxPackedBytes = 2 ** 30;

interface ForwardRecord {
  batch: TokenBatch;
  weights: string;
  temperature: number;
}

/** The engine that needs nothing but npm: transformers trained and sampled on the CPU by ONNX Runtime, off the main thread. */
export async function embedded(options: EmbeddedOptions): Promise<Engine> {
  refuseUnknownOptions("embedded", options, knownEmbeddedOptions);
  const saved = options.folder === undefined ? undefined : readModelFolder(options.folder);
  const config = options.model ?? saved?.config;
  if (config === undefined) {
    throw new LudusError("no-model", {
      got: "neither `model` nor `folder`",
      expected: "one of them",
      hint: "For example embedded({ model: models.small({ vocabularySize: 259 }) }).",
    });
  }
  checkRopeLength(config);
  const engine = new EmbeddedEngine(checkModelConfig(config), options, saved?.valueHead ?? false);
  try {
    await engine.start(options.seed ?? 0);
    if (options.folder !== undefined) await engine.load(options.folder);
  } catch (error) {
    await engine.close();
    throw error;
  }
  return engine;
}

class EmbeddedEngine implements Engine {
  readonly #config: ModelConfig;
  readonly #layout: WeightLayout;
  readonly #options: EmbeddedOptions;
  readonly #valueHead: boolean;
  readonly #pool: ComputePool;
  readonly #sets: WeightSets;
  // a forward that nobody holds any more takes its record with it: nothing can leak
  readonly #forwards = new WeakMap<Forward, ForwardRecord>();
  #nextId = 0;

  constructor(config: ModelConfig, options: EmbeddedOptions, savedValueHead: boolean) {
    this.#config = config;
    this.#options = options;
    this.#valueHead = options.valueHead ?? savedValueHead;
    this.#layout = weightLayout(config, this.#valueHead);
    const cores = options.threads ?? threadsOfProcess();
    const isSmall = this.#layout.size <= maxDataParallelParameters;
    const count = isSmall ? cores : 1;
    const intraThreads = Math.max(1, Math.floor(cores / count));
    const packedBytes = PackedWeights.size(kernelShape(config));
    const decoding = hasFusedVectors && packedBytes <= maxPackedBytes ? "kernels" : "sessions";
    const { tokenizer } = options;
    const kernels = compileKernels(config, decoding === "kernels" && intraThreads > 1);
    const trainsInKernels = isSmall && hasFusedVectors && canTrainInKernels(config) && options.recompute !== "layers";
    const setup: ThreadSetup = {
      config,
      valueHead: this.#valueHead,
      intraThreads,
      kernels,
      decoding,
      training: trainsInKernels ? compileTraining(kernels.panelWidth) : undefined,
      maxCacheBytes: Math.floor((options.maxCacheBytes ?? freemem() / 4) / count),
      maxRows: Math.max(1, Math.ceil((options.maxRows ?? 512) / count)),
      recompute: options.recompute ?? "automatic",
      tokenBytes: tokenizer && Array.from({ length: tokenizer.vocabularySize }, (_, id) => tokenizer.tokenBytes(id)),
    };
    this.#pool = new ComputePool(setup, count);
    this.#sets = new WeightSets(this.#pool, this.#layout);
  }

  async start(seed: number): Promise<void> {
    const weights = sharedFloats(this.#layout.size);
    initialiseWeights(weights, this.#layout, this.#config, seed);
    await this.#sets.add(policyWeights, { weights, version: 0 }, true);
  }

  get info(): EngineInfo {
    const count = this.#pool.workers.length;
    return {
      name: "embedded",
      device: `cpu, ${count} thread${count === 1 ? "" : "s"}`,
      implementation: "own",
      vocabularySize: this.#config.vocabularySize,
      contextLength: this.#config.contextLength,
      parameters: this.#layout.size,
      hasValues: this.#valueHead,
      keepsCaches: true,
      policyVersion: this.#sets.policyVersion,
      weights: this.#sets.names,
    };
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#pool.checkOpen("sample");
    checkSampleRequest(this.info, request);
    signal?.throwIfAborted();
    const id = this.#nextId++;
    const worker = this.#pool.forRollout(request.rollout);
    const sampling = worker.call<Sample | undefined>("sample", { id, request });
    const abort = () => void worker.call("abort", { id }).catch(() => {});
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const sample = await sampling;
      if (sample === undefined) throw signal?.reason;
      return sample;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<Forward> {
    this.#pool.checkOpen("forward");
    checkTokenBatch(this.info, batch, options);
    const { weights = policyWeights, temperature = 1, alternatives = 0, sampled } = options;
    const numbers =
      sampled === undefined
        ? await this.#pool.exclusive("forward", () => this.#computeForward(batch, weights, temperature, alternatives))
        : joinNumbers(batch.rows, [], { values: this.#valueHead, alternatives: 0 });
    const forward: Forward = {
      ...numbers,
      ...defined({ logprobs_B_T: sampled === undefined ? undefined : sampled.logprobs_B_T }),
      id: this.#nextId++,
      policyVersion: this.#sets.policyVersion,
    };
    this.#forwards.set(forward, { batch, weights, temperature });
    return forward;
  }

  async #computeForward(batch: TokenBatch, weights: string, temperature: number, alternatives: number) {
    const rows = batch.rows.map(forwardRow);
    const options = { temperature, alternatives, candidates: batch.rows[0].candidates?.count ?? 0 };
    const plan = this.#plan(rows);
    const works = plan.map((batches) => ({ weights, batches: workBatches(rows, batches), options }));
    const results = await this.#pool.each<Work, RowNumbers[][]>("forward", works);
    const numbers: RowNumbers[] = [];
    plan.forEach((batches, i) => {
      batches.forEach((micro, m) => {
        micro.rows.forEach((row, r) => {
          numbers[row] = results[i]![m][r];
        });
      });
    });
    return joinNumbers(batch.rows, numbers, { values: this.#valueHead, alternatives });
  }

  /** Micro-batches for each thread; rows without wanted positions take no part. */
  #plan(rows: readonly (WorkRow | undefined)[]): MicroBatch[][] {
    const taking = rows.flatMap((row, b) => (row !== undefined && row.wanted.length > 0 ? [b] : []));
    if (taking.length === 0) return this.#pool.workers.map(() => []);
    const maxTokens = this.#options.microBatchTokens ?? defaultMicroBatchTokens;
    const chosen = taking.map((b) => rows[b]!);
    const plan = planMicroBatches(chosen, { maxTokens, threads: this.#pool.workers.length });
    return plan.map((batches) => batches.map((batch) => ({ ...batch, rows: batch.rows.map((row) => taking[row]) })));
  }

  async backward(forward: Forward, derivatives: Derivatives): Promise<void> {
    this.#pool.checkOpen("backward");
    const record = this.#forwards.get(forward);
    if (record === undefined) {
      throw new LudusError("unknown-forward", {
        got: `forward ${forward.id}`,
        expected: "a result of this engine's forward() that has not been used for a backward pass",
        hint: "Each forward pass serves one backward pass; call forward() again.",
      });
    }
    const { batch, weights, temperature } = record;
    checkDerivatives(batch, forward, derivatives);
    this.#sets.checkTrainable(weights);
    this.#forwards.delete(forward);
    const rows = batch.rows.map((row, b) => backwardRow(row, b, derivatives));
    const options = { temperature, alternatives: 0, candidates: batch.rows[0].candidates?.count ?? 0 };
    await this.#pool.exclusive("backward", async () => {
      const works = this.#plan(rows).map((batches, i) =>
        batches.length === 0
          ? undefined
          : { weights, batches: workBatches(rows, batches), options, ...this.#sets.gradient(weights, i) },
      );
      await this.#pool.each("backward", works);
    });
  }

  async step(options: OptimizerOptions): Promise<StepReport> {
    this.#pool.checkOpen("step");
    checkOptimizer(this.info, options);
    return await this.#pool.exclusive("step", () => this.#sets.step(options.weights ?? policyWeights, options));
  }

  async snapshot(name: string, options: SnapshotOptions = {}): Promise<void> {
    this.#pool.checkOpen("snapshot");
    await this.#sets.snapshot(name, options.from ?? policyWeights, options.trainable ?? false);
  }

  async release({ weights, rollout }: { weights?: string; rollout?: string }): Promise<void> {
    if (weights === policyWeights) {
      throw new LudusError("bad-release", {
        got: "the policy",
        expected: "a snapshot",
        hint: "close() ends the engine.",
      });
    }
    // close() has freed everything
    if (this.#pool.isClosed) return;
    if (rollout !== undefined) await this.#pool.releaseRollout(rollout);
    if (weights !== undefined) await this.#pool.exclusive("release", () => this.#sets.forget(weights));
  }

  async save(directory: string, { only }: SaveOptions = {}): Promise<void> {
    this.#pool.checkOpen("save");
    if (only === "adapter") throw noAdapter(this.info.name);
    const { tokenizer } = this.#options;
    await this.#pool.exclusive("save", async () => {
      writeModelFolder(directory, {
        config: this.#config,
        valueHead: this.#valueHead,
        sets: this.#sets.toSave(only !== undefined),
        ...defined({ tokenizer }),
      });
    });
  }

  async load(directory: string, options: LoadOptions = {}): Promise<void> {
    this.#pool.checkOpen("load");
    const folder = readModelFolder(directory);
    await this.#pool.exclusive("load", () =>
      this.#sets.replace(() => folder.readSets(this.#config, (tensors) => readWeights(tensors, this.#layout), options)),
    );
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }
}

function workBatches(rows: readonly (WorkRow | undefined)[], batches: readonly MicroBatch[]): WorkBatch[] {
  return batches.map((batch) => ({ sharedPrefix: batch.sharedPrefix, rows: batch.rows.map((row) => rows[row]!) }));
}
