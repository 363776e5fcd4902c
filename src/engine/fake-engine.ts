import { LudusError } from "../errors.ts";
import { uniformAt } from "../random.ts";
import { checkDerivatives, checkOptimizer, checkSampleRequest, checkTokenBatch } from "./check-request.ts";
import { chooseToken, mostProbable } from "./choose-token.ts";
import {
  type Derivatives,
  type Engine,
  type EngineInfo,
  type Forward,
  policyWeights,
  type Sample,
  type SampleRequest,
  type SampleStop,
  type TokenBatch,
} from "./engine.ts";
import { StopStringMatcher } from "./stop-strings.ts";

export interface FakeEngineOptions {
  vocabularySize: number;
  contextLength?: number;
  /** Unnormalised probabilities of the next token after these; a constant array is a memoryless model. */
  distribution: readonly number[] | ((tokens: readonly number[], policyVersion: number) => readonly number[]);
  /** The value of the state after these tokens; none by default. */
  value?: (tokens: readonly number[]) => number;
  tokenBytes?: (token: number) => Uint8Array;
  /** Called before each sample: wait, throw, count. */
  beforeSample?: (request: SampleRequest, signal: AbortSignal | undefined) => Promise<void> | void;
}

/** What has been asked of a fake engine since it was made. */
export interface FakeEngine extends Engine {
  readonly samples: readonly SampleRequest[];
  readonly backwards: readonly { batch: TokenBatch; derivatives: Derivatives }[];
}

/**
 * An engine whose distribution is set by hand: for tests of everything above the contract. It computes exactly what it says,
 * learns nothing, and remembers what it was asked. `step` only raises the version.
 *
 *     const engine = fakeEngine({ vocabularySize: 3, distribution: ([...], version) => [0.5, 0.25, 0.25] });
 */
export function fakeEngine(options: FakeEngineOptions): FakeEngine {
  const { vocabularySize, contextLength = 4096 } = options;
  const samples: SampleRequest[] = [];
  const backwards: { batch: TokenBatch; derivatives: Derivatives }[] = [];
  const batches = new WeakMap<Forward, TokenBatch>();
  const versions = new Map([[policyWeights, 0]]);
  let forwards = 0;
  let hasGradient = false;

  function probabilities(tokens: readonly number[], weights: string, temperature: number): Float32Array {
    const { distribution } = options;
    const raw = typeof distribution === "function" ? distribution(tokens, versions.get(weights)!) : distribution;
    const scaled = raw.map((weight) => weight ** (1 / (temperature || 1)));
    const total = scaled.reduce((a, b) => a + b, 0);
    return Float32Array.from(scaled, (weight) => weight / total);
  }

  const info = (): EngineInfo => ({
    name: "fake",
    device: "none",
    vocabularySize,
    contextLength,
    parameters: 0,
    hasValues: options.value !== undefined,
    policyVersion: versions.get(policyWeights)!,
    weights: [...versions.keys()],
  });

  async function sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample> {
    checkSampleRequest(info(), request);
    samples.push(request);
    signal?.throwIfAborted();
    await options.beforeSample?.(request, signal);
    signal?.throwIfAborted();
    return continueTokens(request);
  }

  function continueTokens(request: SampleRequest): Sample {
    const { temperature = 1, topP, topK, weights = policyWeights } = request;
    const tokens = Array.from(request.tokens);
    const matcher = request.stopStrings && new StopStringMatcher(request.stopStrings, tokenBytes);
    const drawn: { token: number; logprob: number; cutLogprob: number }[] = [];
    const alternatives: { token: number; logprob: number }[] = [];
    let stop: SampleStop | undefined;
    while (stop === undefined) {
      const distribution = probabilities(tokens, weights, temperature);
      const chosen = chooseToken(distribution, {
        uniform: uniformAt(request.seed, tokens.length),
        isGreedy: temperature === 0,
        topP,
        topK,
      });
      for (const token of mostProbable(distribution, request.alternatives ?? 0))
        alternatives.push({ token, logprob: Math.log(distribution[token]!) });
      drawn.push(chosen);
      tokens.push(chosen.token);
      if (request.stopTokens?.includes(chosen.token)) stop = "stop-token";
      else if (matcher?.push(chosen.token)) stop = "stop-string";
      else if (drawn.length >= request.maxTokens) stop = "max-tokens";
      else if (tokens.length >= contextLength) stop = "context-full";
    }
    return {
      tokens: Int32Array.from(drawn, ({ token }) => token),
      logprobs: Float32Array.from(drawn, ({ logprob }) => logprob),
      versions: new Int32Array(drawn.length).fill(versions.get(weights)!),
      stop,
      ...(topP === undefined && topK === undefined
        ? {}
        : { cutLogprobs: Float32Array.from(drawn, ({ cutLogprob }) => cutLogprob) }),
      ...(request.alternatives === undefined
        ? {}
        : {
            alternatives: {
              count: request.alternatives,
              tokens: Int32Array.from(alternatives, ({ token }) => token),
              logprobs: Float32Array.from(alternatives, ({ logprob }) => logprob),
            },
          }),
    };
  }

  function tokenBytes(token: number): Uint8Array {
    if (options.tokenBytes !== undefined) return options.tokenBytes(token);
    throw new LudusError("no-tokenizer", { got: "stop strings", expected: "a fake engine with `tokenBytes`" });
  }

  return {
    samples,
    backwards,
    get info() {
      return info();
    },
    sample,
    async forward(batch, forwardOptions = {}) {
      checkTokenBatch(info(), batch, forwardOptions);
      const { weights = policyWeights, temperature = 1, alternatives = 0 } = forwardOptions;
      const rows = batch.rows.map((row) => {
        const distributions = Array.from(row.tokens, (_, t) =>
          t > 0 && (row.mask?.[t] ?? 1)
            ? probabilities(Array.from(row.tokens.slice(0, t)), weights, temperature)
            : undefined,
        );
        const each = (compute: (distribution: Float32Array, t: number) => number) =>
          Float32Array.from(distributions, (distribution, t) => (distribution ? compute(distribution, t) : 0));
        const spread = (width: number, compute: (distribution: Float32Array, t: number) => readonly number[]) =>
          Float32Array.from(
            distributions.flatMap((distribution, t) =>
              distribution ? compute(distribution, t) : new Array<number>(width).fill(0),
            ),
          );
        const count = row.candidates?.count ?? 0;
        const best = distributions.map((distribution) =>
          distribution ? mostProbable(distribution, alternatives) : new Int32Array(alternatives),
        );
        return {
          logprobs: each((distribution, t) => Math.log(distribution[row.tokens[t]!]!)),
          entropies: each((distribution) => -distribution.reduce((sum, p) => (p > 0 ? sum + p * Math.log(p) : sum), 0)),
          values: each((_, t) => options.value?.(Array.from(row.tokens.slice(0, t))) ?? 0),
          candidates: spread(count, (distribution, t) =>
            Array.from({ length: count }, (_, k) => Math.log(distribution[row.candidates!.tokens[t * count + k]!]!)),
          ),
          alternatives: {
            count: alternatives,
            tokens: Int32Array.from(best.flatMap((ids) => [...ids])),
            logprobs: spread(alternatives, (distribution, t) => [...best[t]!].map((id) => Math.log(distribution[id]!))),
          },
        };
      });
      const forward: Forward = {
        id: forwards++,
        policyVersion: versions.get(policyWeights)!,
        logprobs_B_T: forwardOptions.sampled?.logprobs_B_T ?? rows.map((row) => row.logprobs),
        entropies_B_T: rows.map((row) => row.entropies),
        ...(options.value === undefined ? {} : { values_B_T: rows.map((row) => row.values) }),
        ...(batch.rows[0]!.candidates === undefined ? {} : { candidates_B_T: rows.map((row) => row.candidates) }),
        ...(alternatives === 0 ? {} : { alternatives_B_T: rows.map((row) => row.alternatives) }),
      };
      batches.set(forward, batch);
      return forward;
    },
    async backward(forward, derivatives) {
      const batch = batches.get(forward);
      if (batch === undefined)
        throw new LudusError("unknown-forward", {
          got: `forward ${forward.id}`,
          expected: "one that has not been used for a backward pass",
        });
      checkDerivatives(batch, forward, derivatives);
      batches.delete(forward);
      backwards.push({ batch, derivatives });
      hasGradient = true;
    },
    async step(optimizer) {
      checkOptimizer(info(), optimizer);
      if (!hasGradient)
        throw new LudusError("no-gradient", {
          got: "a step without a gradient",
          expected: "at least one backward() since the last step",
        });
      hasGradient = false;
      const name = optimizer.weights ?? policyWeights;
      versions.set(name, versions.get(name)! + 1);
      return { gradientNorm: 1, applied: true, clipped: false, policyVersion: versions.get(policyWeights)! };
    },
    async snapshot(name, { from = policyWeights } = {}) {
      const version = versions.get(from);
      if (version === undefined || name === policyWeights)
        throw new LudusError("bad-snapshot", {
          got: `"${name}" of "${from}"`,
          expected: "a new name of known weights",
        });
      versions.set(name, version);
    },
    async release({ weights }) {
      if (weights !== undefined && weights !== policyWeights) versions.delete(weights);
    },
    async save() {},
    async load() {},
    async close() {},
  };
}
