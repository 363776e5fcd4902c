import { availableParallelism, freemem } from "node:os";
import { LudusError } from "../../errors.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch } from "../check-request.ts";
import {
  type Derivatives,
  type Engine,
  type EngineInfo,
  type Forward,
  type ForwardOptions,
  type OptimizerOptions,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
} from "../engine.ts";
import type { ThreadSetup } from "./compute-thread.ts";
import { planMicroBatches } from "./micro-batches.ts";
import { checkModelConfig, countParameters, type ModelConfig } from "./model-config.ts";
import { readModelFolder, type SavedSet, writeModelFolder } from "./model-folder.ts";
import { ComputeWorker } from "./thread-pool.ts";
import type { RowNumbers, WorkRow } from "./training-thread.ts";
import { initialiseWeights, sharedFloats, type WeightLayout, weightLayout } from "./weights.ts";
import { backwardRow, forwardRow, joinNumbers } from "./work-rows.ts";

export interface EmbeddedOptions {
  /** A preset such as `small({ vocabularySize })`, any config of the family, or nothing with `folder`. */
  model?: ModelConfig;
  /** A Hugging Face folder to start from. */
  folder?: string;
  /** Saved with the model; needed for stop strings. */
  tokenizer?: Tokenizer;
  valueHead?: boolean;
  /** For the initial weights. */
  seed?: number;
  /** Processor cores to use; all by default. */
  threads?: number;
  /** Limit of the key/value caches of all threads together; a quarter of the free memory by default. */
  maxCacheBytes?: number;
  /** Sequences decoded at the same time, all threads together. */
  maxRows?: number;
  /** Padded tokens computed at once by one thread while training: more is faster up to a point and takes more memory. */
  microBatchTokens?: number;
  /** What the backward pass computes again instead of keeping it. */
  recompute?: ThreadSetup["recompute"];
}

/** Models up to this size train fastest as independent threads, each with rows of its own; larger ones share each product. */
const independentThreads = 12_000_000;

interface TrainableSet {
  weights: Float32Array<SharedArrayBuffer>;
  training:
    | { firstMoments: Float32Array<SharedArrayBuffer>; secondMoments: Float32Array<SharedArrayBuffer>; steps: number }
    | undefined;
  /** One per thread, made when first needed. */
  gradients: Float32Array<SharedArrayBuffer>[];
  /** Which threads' gradients hold anything. */
  hasGradient: boolean[];
  version: number;
}

interface ForwardRecord {
  batch: TokenBatch;
  weights: string;
  temperature: number;
}

/** The engine that needs nothing but npm: transformers trained and sampled on the CPU by ONNX Runtime, off the main thread. */
export async function embedded(options: EmbeddedOptions): Promise<Engine> {
  const saved = options.folder === undefined ? undefined : readModelFolder(options.folder);
  const config = options.model ?? saved?.config;
  if (config === undefined) {
    throw new LudusError("no-model", {
      got: "neither `model` nor `folder`",
      expected: "one of them",
      hint: "For example embedded({ model: small({ vocabularySize: 259 }) }).",
    });
  }
  const engine = new EmbeddedEngine(checkModelConfig(config), options, saved?.valueHead ?? false);
  await engine.start(options.seed ?? 0);
  if (options.folder !== undefined) await engine.load(options.folder);
  return engine;
}

class EmbeddedEngine implements Engine {
  readonly #config: ModelConfig;
  readonly #layout: WeightLayout;
  readonly #options: EmbeddedOptions;
  readonly #valueHead: boolean;
  readonly #threads: ComputeWorker[];
  readonly #sets = new Map<string, TrainableSet>();
  // a forward that nobody holds any more takes its record with it: nothing can leak
  readonly #forwards = new WeakMap<Forward, ForwardRecord>();
  readonly #rolloutThread = new Map<string, ComputeWorker>();
  #nextId = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(config: ModelConfig, options: EmbeddedOptions, savedValueHead: boolean) {
    this.#config = config;
    this.#options = options;
    this.#valueHead = options.valueHead ?? savedValueHead;
    this.#layout = weightLayout(config, this.#valueHead);
    const cores = options.threads ?? availableParallelism();
    const count = this.#layout.size <= independentThreads ? cores : 1;
    const maxCacheBytes = options.maxCacheBytes ?? freemem() / 4;
    const vocabulary = options.tokenizer;
    const setup: ThreadSetup = {
      config,
      valueHead: this.#valueHead,
      intraThreads: Math.max(1, Math.floor(cores / count)),
      maxCacheBytes: Math.floor(maxCacheBytes / count),
      maxRows: Math.max(1, Math.ceil((options.maxRows ?? 512) / count)),
      recompute: options.recompute ?? "automatic",
      tokenBytes: vocabulary && Array.from({ length: vocabulary.vocabularySize }, (_, id) => vocabulary.tokenBytes(id)),
    };
    this.#threads = Array.from({ length: count }, () => new ComputeWorker(setup));
  }

  async start(seed: number): Promise<void> {
    const weights = sharedFloats(this.#layout.size);
    initialiseWeights(weights, this.#layout, this.#config, seed);
    await this.#addSet(policyWeights, {
      weights,
      training: this.#freshTraining(),
      gradients: [],
      hasGradient: [],
      version: 0,
    });
  }

  get info(): EngineInfo {
    return {
      name: "embedded",
      device: `cpu, ${this.#threads.length} thread${this.#threads.length === 1 ? "" : "s"}`,
      vocabularySize: this.#config.vocabularySize,
      contextLength: this.#config.contextLength,
      parameters: countParameters(this.#config, { valueHead: this.#valueHead }),
      hasValues: this.#valueHead,
      policyVersion: this.#sets.get(policyWeights)?.version ?? 0,
      weights: [...this.#sets.keys()],
    };
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    checkSampleRequest(this.info, request);
    signal?.throwIfAborted();
    const id = this.#nextId++;
    const thread = this.#threadFor(request.rollout);
    const answer = thread.call<Sample | undefined>("sample", { id, request });
    const abort = () => void thread.call("abort", { id }).catch(() => {});
    signal?.addEventListener("abort", abort, { once: true });
    try {
      const sample = await answer;
      if (sample === undefined)
        throw signal?.reason ?? new LudusError("cancelled", { got: "an abort", expected: "a finished sample" });
      return sample;
    } finally {
      signal?.removeEventListener("abort", abort);
    }
  }

  #threadFor(rollout: string | undefined): ComputeWorker {
    const known = rollout === undefined ? undefined : this.#rolloutThread.get(rollout);
    if (known !== undefined) return known;
    const idlest = this.#threads.reduce((least, other) => (other.pending < least.pending ? other : least));
    if (rollout !== undefined) this.#rolloutThread.set(rollout, idlest);
    return idlest;
  }

  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<Forward> {
    checkTokenBatch(this.info, batch, options);
    const { weights = policyWeights, temperature = 1, alternatives = 0, sampled } = options;
    const numbers =
      sampled === undefined
        ? await this.#exclusive(() => this.#computeForward(batch, weights, temperature, alternatives))
        : joinNumbers(batch.rows, [], { values: this.#valueHead, alternatives: 0 });
    const forward: Forward = {
      ...numbers,
      ...(sampled === undefined ? {} : { logprobs_B_T: sampled.logprobs_B_T }),
      id: this.#nextId++,
      policyVersion: this.info.policyVersion,
    };
    this.#forwards.set(forward, { batch, weights, temperature });
    return forward;
  }

  async #computeForward(batch: TokenBatch, weights: string, temperature: number, alternatives: number) {
    const rows = batch.rows.map(forwardRow);
    const numbers: RowNumbers[] = [];
    const options = { temperature, alternatives, candidates: batch.rows[0]!.candidates?.count ?? 0 };
    const plan = this.#plan(rows);
    await Promise.all(
      plan.map(async (batches, i) => {
        const work = batches.map((micro) => micro.map((row) => rows[row]!));
        const results = await this.#threads[i]!.call<RowNumbers[][]>("forward", { weights, batches: work, options });
        results.forEach((result, m) => result.forEach((row, r) => (numbers[batches[m]![r]!] = row)));
      }),
    );
    return joinNumbers(batch.rows, numbers, { values: this.#valueHead, alternatives });
  }

  /** Micro-batches of row numbers for each thread; rows without wanted positions take no part. */
  #plan(rows: readonly (WorkRow | undefined)[]): number[][][] {
    const taking = rows.flatMap((row, b) => (row !== undefined && row.wanted.length > 0 ? [b] : []));
    const limits = this.#config.rope.type === "longrope" ? [this.#config.rope.originalContextLength] : [];
    const classes = [
      taking.filter((b) => !limits.some((limit) => rows[b]!.tokens.length > limit)),
      taking.filter((b) => limits.some((limit) => rows[b]!.tokens.length > limit)),
    ];
    const threads: number[][][] = this.#threads.map(() => []);
    for (const members of classes) {
      const plan = planMicroBatches(
        members.map((b) => rows[b]!.wanted.at(-1)!),
        { maxTokens: this.#microBatchTokens(), threads: this.#threads.length },
      );
      plan.forEach((batches, i) => threads[i]!.push(...batches.map((micro) => micro.rows.map((row) => members[row]!))));
    }
    return threads;
  }

  #microBatchTokens(): number {
    return this.#options.microBatchTokens ?? 1024;
  }

  async backward(forward: Forward, derivatives: Derivatives): Promise<void> {
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
    const set = this.#trainable(weights);
    this.#forwards.delete(forward);
    const rows = batch.rows.map((row, b) => backwardRow(row, b, derivatives));
    const options = { temperature, alternatives: 0, candidates: batch.rows[0]!.candidates?.count ?? 0 };
    await this.#exclusive(async () => {
      const plan = this.#plan(rows);
      await Promise.all(
        plan.map(async (batches, i) => {
          if (batches.length === 0) return;
          const gradient = (set.gradients[i] ??= sharedFloats(this.#layout.size));
          const isFirst = set.hasGradient[i] !== true;
          set.hasGradient[i] = true;
          const work = batches.map((micro) => micro.map((row) => rows[row]!));
          await this.#threads[i]!.call("backward", { weights, batches: work, options, gradient, isFirst });
        }),
      );
    });
  }

  async step(options: OptimizerOptions): Promise<StepReport> {
    checkOptimizer(this.info, options);
    const name = options.weights ?? policyWeights;
    const set = this.#trainable(name);
    return await this.#exclusive(() => this.#applyStep(name, set, options));
  }

  async #applyStep(name: string, set: TrainableSet, options: OptimizerOptions): Promise<StepReport> {
    const gradients = set.gradients.filter((_, i) => set.hasGradient[i] === true);
    if (gradients.length === 0) {
      throw new LudusError("no-gradient", {
        got: "a step without a gradient",
        expected: "at least one backward() with a non-zero derivative since the last step",
        hint: "Skip the step when every advantage is zero.",
      });
    }
    const ranges = this.#ranges();
    const squares = await Promise.all(
      ranges.map((range, i) => this.#threads[i]!.call<number>("reduce", { gradients, range })),
    );
    const gradientNorm = Math.sqrt(squares.reduce((a, b) => a + b, 0));
    set.hasGradient.fill(false);
    const limit = options.maxGradientNorm ?? Number.POSITIVE_INFINITY;
    const clipped = gradientNorm > limit;
    if (!Number.isFinite(gradientNorm))
      return { gradientNorm, applied: false, clipped: false, policyVersion: this.info.policyVersion };
    const training = set.training!;
    training.steps++;
    const update = { ...options, step: training.steps, gradientScale: clipped ? limit / (gradientNorm + 1e-6) : 1 };
    const state = { weights: set.weights, firstMoments: training.firstMoments, secondMoments: training.secondMoments };
    await this.#whileHeld([name], async () => {
      await Promise.all(
        ranges.map((range, i) =>
          this.#threads[i]!.call("adamw", { state, gradient: gradients[0]!, range, options: update }),
        ),
      );
      set.version++;
    });
    return { gradientNorm, applied: true, clipped, policyVersion: this.info.policyVersion };
  }

  #ranges(): { start: number; end: number }[] {
    const size = Math.ceil(this.#layout.size / this.#threads.length);
    return this.#threads.map((_, i) => ({
      start: Math.min(i * size, this.#layout.size),
      end: Math.min((i + 1) * size, this.#layout.size),
    }));
  }

  /** Changes weights while no thread reads them; caches made with the old ones are dropped. */
  async #whileHeld(changed: readonly string[], change: () => Promise<void>): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.call("hold")));
    try {
      await change();
    } finally {
      const version = this.#sets.get(changed[0]!)?.version ?? 0;
      await Promise.all(this.#threads.map((thread) => thread.call("resume", { changed, version })));
    }
  }

  async snapshot(name: string, options: SnapshotOptions = {}): Promise<void> {
    const source = this.#sets.get(options.from ?? policyWeights);
    if (source === undefined || name === policyWeights) {
      throw new LudusError("bad-snapshot", {
        got: `a snapshot "${name}" of "${options.from ?? policyWeights}"`,
        expected: `a new name, and a source among ${this.info.weights.join(", ")}`,
      });
    }
    await this.#exclusive(async () => {
      const weights = sharedFloats(this.#layout.size);
      weights.set(source.weights);
      if (this.#sets.has(name)) await this.#forgetSet(name);
      await this.#addSet(name, {
        weights,
        training: options.trainable === true ? this.#freshTraining() : undefined,
        gradients: [],
        hasGradient: [],
        version: source.version,
      });
    });
  }

  async release({ weights, rollout }: { weights?: string; rollout?: string }): Promise<void> {
    if (rollout !== undefined) {
      const thread = this.#rolloutThread.get(rollout);
      this.#rolloutThread.delete(rollout);
      await thread?.call("release", { rollout });
    }
    if (weights === policyWeights)
      throw new LudusError("bad-release", {
        got: "the policy",
        expected: "a snapshot",
        hint: "close() ends the engine.",
      });
    if (weights !== undefined && this.#sets.has(weights)) await this.#exclusive(() => this.#forgetSet(weights));
  }

  async save(directory: string): Promise<void> {
    for (const [name, set] of this.#sets) {
      if (!set.hasGradient.includes(true)) continue;
      throw new LudusError("gradient-pending", {
        got: `a gradient of "${name}" that no step has used`,
        expected: "none",
        hint: "Call step() first: a checkpoint holds weights and optimizer, not half a step.",
      });
    }
    await this.#exclusive(async () => {
      const sets = [...this.#sets].map(
        ([name, { weights, training, version }]): SavedSet => ({
          name,
          weights,
          version,
          ...(training === undefined ? {} : { training }),
        }),
      );
      writeModelFolder(directory, {
        config: this.#config,
        valueHead: this.#valueHead,
        layout: this.#layout,
        sets,
        ...(this.#options.tokenizer === undefined ? {} : { tokenizer: this.#options.tokenizer }),
      });
    });
  }

  async load(directory: string): Promise<void> {
    const folder = readModelFolder(directory);
    await this.#exclusive(() =>
      this.#whileHeld([...this.#sets.keys()], async () => {
        const loaded = folder.readSets(this.#config, this.#layout);
        for (const name of [...this.#sets.keys()])
          if (!loaded.some((set) => set.name === name)) await this.#forgetSet(name);
        for (const { name, weights, training, version } of loaded) {
          const isTrained = name === policyWeights || training !== undefined;
          await this.#addSet(name, {
            weights,
            training: isTrained ? (training ?? this.#freshTraining()) : undefined,
            gradients: [],
            hasGradient: [],
            version,
          });
        }
      }),
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.#threads.map((thread) => thread.close()));
  }

  #freshTraining() {
    return { firstMoments: sharedFloats(this.#layout.size), secondMoments: sharedFloats(this.#layout.size), steps: 0 };
  }

  async #addSet(name: string, set: TrainableSet): Promise<void> {
    this.#sets.set(name, set);
    await Promise.all(
      this.#threads.map((thread) => thread.call("setWeights", { name, all: set.weights, version: set.version })),
    );
  }

  async #forgetSet(name: string): Promise<void> {
    this.#sets.delete(name);
    await Promise.all(this.#threads.map((thread) => thread.call("forgetWeights", { name })));
  }

  #trainable(name: string): TrainableSet {
    const set = this.#sets.get(name);
    if (set?.training !== undefined) return set;
    throw new LudusError("frozen-weights", {
      got: `training of "${name}"`,
      expected: "trainable weights",
      hint: "Make them with snapshot(name, { trainable: true }).",
    });
  }

  /** Everything but sampling happens one after another. */
  #exclusive<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => {});
    return result;
  }
}
