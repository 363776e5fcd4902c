import { randomUUID } from "node:crypto";
import { mkdirSync } from "node:fs";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import { createLimiter, type Limiter } from "../../limiter.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch } from "../check-request.ts";
import { closedError } from "../closed-error.ts";
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
import type { EngineLack } from "../engine-lack.ts";
import { unpackAdapter } from "./adapter-archive.ts";
import {
  Anything,
  datum,
  gradientData,
  logprobsOf,
  PassResult,
  type PendingRow,
  SampleResult,
  type TinkerServer,
} from "./messages.ts";
import { refuseLacking, sampleBody, toSample } from "./sample-messages.ts";
import { readSavedState, writeSavedState } from "./saved-state.ts";
import type { TinkerClient } from "./tinker-client.ts";
import type { TinkerOptions } from "./tinker-options.ts";
import type { RemoteWeights, TinkerSession } from "./tinker-session.ts";

/** What `tinker()` has made. */
export interface EngineParts {
  readonly options: TinkerOptions;
  readonly client: TinkerClient;
  readonly session: TinkerSession;
  readonly server: TinkerServer;
  readonly model: string;
  readonly rank: number;
  readonly sizes: Pick<EngineInfo, "vocabularySize" | "contextLength" | "parameters">;
}

const alwaysLacking: readonly EngineLack[] = [
  "entropies",
  "candidates",
  "alternatives",
  "temperatures",
  "cuts",
  "gradient-norm",
  "weight-files",
];

// what one request may hold
const chunkRows = 128;
const chunkTokens = 200_000;

interface KnownForward {
  readonly batch: TokenBatch;
  readonly weights: string;
}

export class TinkerEngine implements Engine {
  readonly #parts: EngineParts;
  readonly #limit: Limiter;
  readonly #weights = new Map<string, RemoteWeights>();
  readonly #forwards = new WeakMap<Forward, KnownForward>();
  /** Rows whose gradient the next step of some weights sends and applies. */
  readonly #pending = new Map<string, PendingRow[]>();
  #nextId = 0;
  #saves = 0;
  readonly #name = `ludus-${randomUUID().slice(0, 8)}`;
  /** Set when it is unknown what the server has applied. */
  #failure: LudusError | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: EngineParts) {
    this.#parts = parts;
    this.#limit = createLimiter(parts.options.concurrency ?? 128);
  }

  async open(): Promise<void> {
    try {
      this.#weights.set(policyWeights, await this.#parts.session.createModel(policyWeights, true));
    } catch (error) {
      this.#parts.session.close();
      throw error;
    }
  }

  get info(): EngineInfo {
    const { server, model, sizes, options } = this.#parts;
    return {
      name: "tinker",
      device: `${model} at ${new URL(options.url).host}`,
      ...sizes,
      hasValues: false,
      hasAdapters: true,
      lacks: server === "skyrl-tx" ? [...alwaysLacking, "fresh-optimizer"] : alwaysLacking,
      policyVersion: this.#weights.get(policyWeights)?.version ?? 0,
      weights: [...this.#weights.keys()],
    };
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#checkOpen("sample");
    checkSampleRequest(this.info, request);
    refuseLacking(request);
    signal?.throwIfAborted();
    const weights = this.#weights.get(request.weights ?? policyWeights)!;
    const body = sampleBody(request, this.info.contextLength);
    // what was asked for is computed even when nobody waits any more: the weights must stay until then
    const sampled = this.#limit(
      () =>
        weights.gate.together(async () => {
          const { session, version } = await this.#parts.session.sampler(weights);
          const result = await this.#parts.session.sample(session, body, SampleResult);
          return toSample(result.sequences[0], request, version, body.sampling_params.max_tokens);
        }),
      signal,
    );
    return unlessAborted(sampled, signal);
  }

  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<Forward> {
    this.#checkOpen("forward");
    checkTokenBatch(this.info, batch, options);
    refuseLacking({ ...options, ...defined({ candidates: batch.rows[0].candidates }) });
    const name = options.weights ?? policyWeights;
    const weights = this.#weights.get(name)!;
    const logprobs_B_T = options.sampled?.logprobs_B_T ?? (await this.#logprobs(weights, batch));
    const forward: Forward = {
      id: this.#nextId++,
      policyVersion: this.info.policyVersion,
      logprobs_B_T,
      entropies_B_T: batch.rows.map(({ tokens }) => new Float32Array(tokens.length)),
    };
    this.#forwards.set(forward, { batch, weights: name });
    return forward;
  }

  async #logprobs(weights: RemoteWeights, { rows }: TokenBatch): Promise<Float32Array[]> {
    const parts = await Promise.all(
      chunked(rows).map(async (part) => {
        const data = part.map(({ tokens }) => datum(tokens, { weights: new Float32Array(tokens.length - 1).fill(1) }));
        const body = { forward_input: { data, loss_fn: "cross_entropy" } };
        return logprobsOf(await this.#parts.session.request(weights, "forward", body, PassResult), part);
      }),
    );
    return parts.flat().map((logprobs_T, b) => {
      const { mask } = rows[b];
      return mask === undefined ? logprobs_T : logprobs_T.map((logprob, t) => (mask[t] === 0 ? 0 : logprob));
    });
  }

  async backward(forward: Forward, derivatives: Derivatives): Promise<void> {
    this.#checkOpen("backward");
    const known = this.#forwards.get(forward);
    if (known === undefined) {
      throw new LudusError("unknown-forward", {
        got: `forward ${forward.id}`,
        expected: "a result of this engine's forward() that has not been used for a backward pass",
        hint: "Each forward pass serves one backward pass; call forward() again.",
      });
    }
    const { batch, weights } = known;
    checkDerivatives(batch, forward, derivatives);
    if (derivatives.entropies_B_T?.some((row) => row.some((value) => value !== 0)) === true) {
      throw new LudusError("no-entropies", {
        got: "derivatives of entropies",
        expected: "a loss of log-probabilities alone: a Tinker server computes no entropies",
        hint: "Leave the entropy bonus out, or train on the embedded engine or PyTorch.",
      });
    }
    this.#checkTrainable(weights);
    this.#forwards.delete(forward);
    const rows = batch.rows.map(({ tokens, mask }, b) => ({
      tokens,
      derivatives_T: (derivatives.logprobs_B_T?.[b] ?? new Float32Array(tokens.length)).map((derivative, t) =>
        t === 0 || mask?.[t] === 0 ? 0 : derivative,
      ),
      logprobs_T: forward.logprobs_B_T[b],
    }));
    this.#pending.set(weights, [...(this.#pending.get(weights) ?? []), ...rows]);
  }

  async step(options: OptimizerOptions): Promise<StepReport> {
    this.#checkOpen("step");
    checkOptimizer(this.info, options);
    const name = options.weights ?? policyWeights;
    this.#checkTrainable(name);
    const rows = this.#pending.get(name);
    if (rows === undefined) {
      throw new LudusError("no-gradient", { got: `a step of "${name}"`, expected: "a backward pass before it" });
    }
    // now: what is added while the server works belongs to the next step
    this.#pending.delete(name);
    const weights = this.#weights.get(name)!;
    await weights.gate.alone(async () => {
      try {
        await this.#apply(weights, rows, options);
      } catch (error) {
        this.#failure = halfApplied(error);
        throw error;
      }
      weights.version++;
      delete weights.sampler;
    });
    return { applied: true, clipped: false, policyVersion: this.info.policyVersion };
  }

  /** Sends gradients and the step right after each other: the server need not wait for an answer in between. */
  async #apply(weights: RemoteWeights, rows: readonly PendingRow[], options: OptimizerOptions): Promise<void> {
    const { session, server } = this.#parts;
    const passes = chunked(rows).map((part) => {
      const body = { forward_backward_input: gradientData(part, { server, count: rows.length }) };
      return session.request(weights, "forward_backward", body, PassResult, true);
    });
    const { learningRate, weightDecay = 0, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, maxGradientNorm = 0 } = options;
    const adamParams = {
      learning_rate: learningRate,
      beta1,
      beta2,
      eps: epsilon,
      weight_decay: weightDecay,
      grad_clip_norm: maxGradientNorm,
    };
    const step = session.request(
      weights,
      "optim_step",
      { adam_params: adamParams, type: "optim_step" },
      Anything,
      true,
    );
    const outcomes = await Promise.allSettled([...passes, step]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
  }

  async snapshot(name: string, { from = policyWeights, trainable = false }: SnapshotOptions = {}): Promise<void> {
    this.#checkOpen("snapshot");
    const source = this.#weights.get(from);
    if (source === undefined || name === policyWeights) {
      throw new LudusError("bad-snapshot", {
        got: `a snapshot "${name}" of "${from}"`,
        expected: `a new name, and a source among ${[...this.#weights.keys()].join(", ")}`,
      });
    }
    const { session } = this.#parts;
    const path = await session.saveState(source, this.#saveName("snapshot"));
    await this.release({ weights: name });
    const copy = await session.createModel(name, trainable);
    await session.loadState(copy, path, false);
    copy.version = source.version;
    this.#weights.set(name, copy);
  }

  async release({ weights: name }: { weights?: string; rollout?: string }): Promise<void> {
    if (this.#closing !== undefined) return;
    const weights = name === undefined || name === policyWeights ? undefined : this.#weights.get(name);
    if (weights === undefined) return;
    this.#weights.delete(weights.name);
    this.#pending.delete(weights.name);
    await weights.gate.alone(() => this.#parts.session.unload(weights, { isLast: false }));
  }

  async save(directory: string, { only }: SaveOptions = {}): Promise<void> {
    this.#checkOpen("save");
    if (this.#pending.size > 0) {
      throw new LudusError("gradient-pending", {
        got: `gradients of ${[...this.#pending.keys()].join(", ")} that wait for a step`,
        expected: "save() after step()",
      });
    }
    if (only === "weights" || only === "shared") {
      throw new LudusError("no-weight-files", {
        got: "the whole weights of a base on a Tinker server",
        expected: "its adapter",
        hint: 'save(directory, { only: "adapter" }) downloads it, for vLLM or PEFT on the same base.',
      });
    }
    mkdirSync(directory, { recursive: true });
    const policy = this.#weights.get(policyWeights)!;
    if (only === "adapter" || this.#parts.options.download !== false) await this.#download(policy, directory);
    if (only === "adapter") return;
    const { session, model, rank } = this.#parts;
    const weights = await Promise.all(
      Array.from(this.#weights.values(), async (set) => ({
        name: set.name,
        path: await session.saveState(set, this.#saveName(set.name)),
        version: set.version,
        isTrainable: set.isTrainable,
      })),
    );
    writeSavedState(directory, { model, rank, weights });
  }

  async #download(weights: RemoteWeights, directory: string): Promise<void> {
    const path = await this.#parts.session.saveAdapter(weights, this.#saveName("adapter"));
    const [, run, checkpoint] = /^tinker:\/\/([\w-]+)\/([\w/-]+)$/.exec(path) ?? [];
    if (run === undefined) {
      throw new LudusError("server-refused", { got: `the path ${path}`, expected: "tinker://<model>/<checkpoint>" });
    }
    unpackAdapter(
      await this.#parts.client.download(`training_runs/${run}/checkpoints/${checkpoint}/archive`),
      directory,
      this.#parts.options.maxDownloadBytes,
    );
  }

  async load(directory: string, { optimizer = "keep" }: LoadOptions = {}): Promise<void> {
    this.#checkOpen("load");
    const { session, server, model, rank } = this.#parts;
    if (optimizer === "fresh" && server === "skyrl-tx") {
      throw new LudusError("bad-option", {
        got: 'optimizer "fresh"',
        expected: "SkyRL tx to load weights without the optimizer's state, which it cannot",
      });
    }
    const saved = readSavedState(directory, { model, rank });
    const kept = new Set(saved.map(({ name }) => name));
    for (const name of this.#weights.keys()) if (!kept.has(name)) await this.release({ weights: name });
    this.#pending.clear();
    const loaded: RemoteWeights[] = [];
    for (const { name, path, version, isTrainable } of saved) {
      const weights = this.#weights.get(name) ?? (await session.createModel(name, isTrainable));
      await weights.gate.alone(() => session.loadState(weights, path, optimizer === "keep"));
      delete weights.sampler;
      weights.version = version;
      loaded.push({ ...weights, isTrainable });
    }
    this.#weights.clear();
    for (const weights of loaded) this.#weights.set(weights.name, weights);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#parts.session.close();
    await Promise.allSettled(
      Array.from(this.#weights.values(), (weights) => this.#parts.session.unload(weights, { isLast: true })),
    );
  }

  #saveName(what: string): string {
    return `${this.#name}-${this.#saves++}-${what.replace(/[^\w-]/g, "_")}`;
  }

  #checkTrainable(name: string): void {
    if (this.#weights.get(name)?.isTrainable === true) return;
    throw new LudusError("frozen-weights", {
      got: `training of "${name}"`,
      expected: "trainable weights",
      hint: "Make them with snapshot(name, { trainable: true }).",
    });
  }

  #checkOpen(call: string): void {
    if (this.#closing !== undefined) throw closedError(call);
    if (this.#failure !== undefined) throw this.#failure;
  }
}

function halfApplied(cause: unknown): LudusError {
  return new LudusError("engine-failed", {
    got: `a step of which it is not known what the server has applied: ${errorText(cause)}`,
    expected: "one that is applied once",
    hint: "Start the program again: a run with `run` goes on from its last checkpoint.",
    cause,
  });
}

/** Parts that one request may hold. */
function chunked<Row extends { readonly tokens: { readonly length: number } }>(rows: readonly Row[]): Row[][] {
  const parts: Row[][] = [];
  let tokens = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const isFull = tokens + row.tokens.length > chunkTokens || parts.at(-1)!.length >= chunkRows;
    if (isFull) parts.push([]);
    tokens = (isFull ? 0 : tokens) + row.tokens.length;
    parts.at(-1)!.push(row);
  }
  return parts;
}

function unlessAborted<Value>(work: Promise<Value>, signal: AbortSignal | undefined): Promise<Value> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
  });
}
