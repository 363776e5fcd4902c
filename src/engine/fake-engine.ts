import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { ActiveRequest } from "./active-request.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch } from "./check-request.ts";
import { mostProbable } from "./choose-token.ts";
import { closedError } from "./closed-error.ts";
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
  type SampleStop,
  type SnapshotOptions,
  type StepReport,
  type TokenBatch,
  type TokenRow,
} from "./engine.ts";

export interface FakeEngineOptions {
  vocabularySize: number;
  contextLength?: number;
  /** Unnormalised probabilities of the next token after these; a constant array is a memoryless model. */
  distribution: readonly number[] | ((tokens: readonly number[], policyVersion: number) => readonly number[]);
  /** The value of the state after these tokens; none by default. */
  value?: (tokens: readonly number[], policyVersion: number) => number;
  /** The bytes of each token, for stop strings. */
  tokenBytes?: readonly Uint8Array[];
  /** Called before each sample: wait, throw, count. */
  beforeSample?: (request: SampleRequest, signal: AbortSignal | undefined) => Promise<void> | void;
}

const knownFakeEngineOptions: KnownOptions<FakeEngineOptions> = {
  vocabularySize: true,
  contextLength: true,
  distribution: true,
  value: true,
  tokenBytes: true,
  beforeSample: true,
};

/** What has been asked of a fake engine since it was made. */
export interface FakeEngine extends Engine {
  readonly samples: readonly SampleRequest[];
  readonly forwards: readonly { batch: TokenBatch; options: ForwardOptions }[];
  readonly backwards: readonly { batch: TokenBatch; derivatives: Derivatives }[];
  readonly steps: readonly OptimizerOptions[];
}

/**
 * An engine whose distribution is set by hand: for tests of everything above the contract. It computes exactly what it says,
 * learns nothing, and remembers what it was asked. `step` only raises the version; `save` and `load` do nothing.
 *
 *     const engine = fakeEngine({ vocabularySize: 3, distribution: (tokens, version) => [0.5, 0.25, 0.25] });
 */
export function fakeEngine(options: FakeEngineOptions): FakeEngine {
  refuseUnknownOptions("fakeEngine", options, knownFakeEngineOptions);
  return new HandSetEngine(options);
}

class HandSetEngine implements FakeEngine {
  readonly samples: SampleRequest[] = [];
  readonly forwards: { batch: TokenBatch; options: ForwardOptions }[] = [];
  readonly backwards: { batch: TokenBatch; derivatives: Derivatives }[] = [];
  readonly steps: OptimizerOptions[] = [];
  readonly #options: FakeEngineOptions;
  readonly #batches = new WeakMap<Forward, TokenBatch>();
  readonly #versions = new Map([[policyWeights, 0]]);
  #hasGradient = false;
  #isClosed = false;

  constructor(options: FakeEngineOptions) {
    this.#options = options;
  }

  get info(): EngineInfo {
    return {
      name: "fake",
      device: "none",
      vocabularySize: this.#options.vocabularySize,
      contextLength: this.#options.contextLength ?? 4096,
      parameters: 0,
      hasValues: this.#options.value !== undefined,
      policyVersion: this.#versions.get(policyWeights)!,
      weights: [...this.#versions.keys()],
    };
  }

  #probabilities(tokens: readonly number[], weights: string, temperature: number): Float32Array {
    const { distribution } = this.#options;
    const raw = typeof distribution === "function" ? distribution(tokens, this.#versions.get(weights)!) : distribution;
    const scaled = raw.map((weight) => weight ** (1 / (temperature || 1)));
    const total = scaled.reduce((a, b) => a + b, 0);
    return Float32Array.from(scaled, (weight) => weight / total);
  }

  async sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    this.#checkOpen("sample");
    checkSampleRequest(this.info, request);
    if (request.stopStrings !== undefined && this.#options.tokenBytes === undefined) {
      throw new LudusError("no-tokenizer", { got: "stop strings", expected: "a fake engine with `tokenBytes`" });
    }
    this.samples.push(request);
    signal?.throwIfAborted();
    await this.#options.beforeSample?.(request, signal);
    signal?.throwIfAborted();
    this.#checkOpen("sample");
    const { temperature = 1, weights = policyWeights } = request;
    const active = new ActiveRequest(this.samples.length, request, this.#options.tokenBytes);
    const tokens = Array.from(request.tokens);
    let stop: SampleStop | undefined;
    while (stop === undefined) {
      const probabilities = this.#probabilities(tokens, weights, temperature);
      const token = active.draw(probabilities, tokens.length, this.#versions.get(weights)!);
      tokens.push(token);
      stop = active.stopAt(token, tokens.length, this.info.contextLength);
    }
    return active.toSample(stop);
  }

  async forward(batch: TokenBatch, options: ForwardOptions = {}): Promise<Forward> {
    this.#checkOpen("forward");
    checkTokenBatch(this.info, batch, options);
    const rows = batch.rows.map((row) => this.#forwardRow(row, options));
    const forward: Forward = {
      id: this.forwards.push({ batch, options }),
      policyVersion: this.info.policyVersion,
      logprobs_B_T: options.sampled?.logprobs_B_T ?? rows.map((row) => row.logprobs),
      entropies_B_T: rows.map((row) => row.entropies),
      ...defined({
        values_B_T: this.#options.value === undefined ? undefined : rows.map((row) => row.values),
        candidates_B_T: batch.rows[0].candidates === undefined ? undefined : rows.map((row) => row.candidates),
        alternatives_B_T: options.alternatives === undefined ? undefined : rows.map((row) => row.alternatives),
      }),
    };
    this.#batches.set(forward, batch);
    return forward;
  }

  #forwardRow(row: TokenRow, { weights = policyWeights, temperature = 1, alternatives = 0 }: ForwardOptions) {
    const tokens = Array.from(row.tokens);
    const isWanted = (t: number) => t > 0 && (row.mask?.[t] ?? 1) !== 0;
    const distributions = tokens.map((_, t) =>
      isWanted(t) ? this.#probabilities(tokens.slice(0, t), weights, temperature) : undefined,
    );
    /** `width` numbers per position, 0 where nothing is wanted. */
    const each = (width: number, compute: (distribution: Float32Array, t: number) => readonly number[]) =>
      distributions.flatMap((known, t) => (known ? compute(known, t) : new Array<number>(width).fill(0)));
    const count = row.candidates?.count ?? 0;
    const best = (distribution: Float32Array) => [...mostProbable(distribution, alternatives)];
    return {
      logprobs: Float32Array.from(each(1, (distribution, t) => [Math.log(distribution[tokens[t]])])),
      entropies: Float32Array.from(each(1, (distribution) => [entropy(distribution)])),
      values: Float32Array.from(
        each(1, (_, t) => [this.#options.value?.(tokens.slice(0, t), this.#versions.get(weights)!) ?? 0]),
      ),
      candidates: Float32Array.from(
        each(count, (distribution, t) => {
          const ids = row.candidates?.tokens.subarray(t * count, (t + 1) * count) ?? [];
          return Array.from(ids, (id) => Math.log(distribution[id]));
        }),
      ),
      alternatives: {
        count: alternatives,
        tokens: Int32Array.from(each(alternatives, best)),
        logprobs: Float32Array.from(
          each(alternatives, (distribution) => best(distribution).map((id) => Math.log(distribution[id]))),
        ),
      },
    };
  }

  async backward(forward: Forward, derivatives: Derivatives): Promise<void> {
    this.#checkOpen("backward");
    const batch = this.#batches.get(forward);
    if (batch === undefined) {
      const expected = "one that has not been used for a backward pass";
      throw new LudusError("unknown-forward", { got: `forward ${forward.id}`, expected });
    }
    checkDerivatives(batch, forward, derivatives);
    this.#batches.delete(forward);
    this.backwards.push({ batch, derivatives });
    this.#hasGradient = true;
  }

  async step(options: OptimizerOptions): Promise<StepReport> {
    this.#checkOpen("step");
    checkOptimizer(this.info, options);
    if (!this.#hasGradient) {
      const expected = "at least one backward() since the last step";
      throw new LudusError("no-gradient", { got: "a step without a gradient", expected });
    }
    this.#hasGradient = false;
    this.steps.push(options);
    const name = options.weights ?? policyWeights;
    this.#versions.set(name, this.#versions.get(name)! + 1);
    return { gradientNorm: 1, applied: true, clipped: false, policyVersion: this.info.policyVersion };
  }

  async snapshot(name: string, { from = policyWeights }: SnapshotOptions = {}): Promise<void> {
    this.#checkOpen("snapshot");
    const version = this.#versions.get(from);
    if (version === undefined || name === policyWeights) {
      throw new LudusError("bad-snapshot", { got: `"${name}" of "${from}"`, expected: "a new name of known weights" });
    }
    this.#versions.set(name, version);
  }

  async release({ weights }: { weights?: string; rollout?: string }): Promise<void> {
    if (weights !== undefined && weights !== policyWeights) this.#versions.delete(weights);
  }

  async save(): Promise<void> {
    this.#checkOpen("save");
  }

  async load(): Promise<void> {
    this.#checkOpen("load");
  }

  async close(): Promise<void> {
    this.#isClosed = true;
  }

  #checkOpen(call: string): void {
    if (this.#isClosed) throw closedError(call);
  }
}

function entropy(distribution: Float32Array): number {
  return -distribution.reduce((sum, p) => (p > 0 ? sum + p * Math.log(p) : sum), 0);
}
