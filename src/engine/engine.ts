import type { EngineLack } from "./engine-lack.ts";

/**
 * The narrow waist: everything learnable is behind this contract. An engine knows tokens, log-probabilities, entropies and
 * values. It does not know what an agent, a reward, an advantage or an algorithm is.
 *
 * Axes: `B` rows of a batch, `T` tokens of a row, `K` alternatives of a position. Everything per token is aligned with the
 * token it is about: index `t` is about choosing `tokens[t]` after `tokens[0..t-1]`, and index 0, which nothing precedes, is 0.
 *
 * Worked example. The prompt `[5, 6]` was continued with `[7, 8]`; only sampled tokens are trained:
 *
 *     const sample = await engine.sample({ tokens: [5, 6], maxTokens: 2, seed: 1 });   // sample.tokens = [7, 8]
 *     const row = { tokens: [5, 6, 7, 8], mask: [0, 0, 1, 1] };
 *     const forward = await engine.forward({ rows: [row] });
 *     forward.logprobs_B_T[0];      // [0, 0, log p(7 | 5 6), log p(8 | 5 6 7)], equal to sample.logprobs where mask = 1
 *     forward.entropies_B_T[0];     // [0, 0, entropy of the distribution 7 came from, … 8 came from]
 *     // loss = -(advantage / 2) * (logprob of 7 + logprob of 8): its derivatives are the constant -advantage / 2
 *     await engine.backward(forward, { logprobs_B_T: [Float32Array.of(0, 0, -0.5, -0.5)] });
 *     await engine.step({ learningRate: 1e-3 });
 */
export interface Engine {
  readonly info: EngineInfo;
  /** Continues one token sequence. Calls that wait at the same time are batched inside. */
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
  /** Log-probabilities, entropies and values of given tokens. The result is a handle for one `backward`. */
  forward(batch: TokenBatch, options?: ForwardOptions): Promise<Forward>;
  /** Adds the gradient of a loss with these per-token derivatives to what has accumulated since the last `step`. */
  backward(forward: Forward, derivatives: Derivatives): Promise<void>;
  /** Clips, applies AdamW, zeroes the gradients, raises the policy version. Non-finite gradients are dropped and reported. */
  step(options: OptimizerOptions): Promise<StepReport>;
  /** Copies weights under a new name; `trainable` ones get gradients and optimizer state of their own. */
  snapshot(name: string, options?: SnapshotOptions): Promise<void>;
  /** Frees what is kept under a name: a snapshot's weights or a rollout's KV cache. Unknown names are not an error. */
  release(kept: { weights?: string; rollout?: string }): Promise<void>;
  /** Writes a Hugging Face folder, plus what an exact resume needs. Refused while accumulated gradients wait for a `step`. */
  save(directory: string, options?: SaveOptions): Promise<void>;
  load(directory: string, options?: LoadOptions): Promise<void>;
  /** Ends the engine, whatever it is in the middle of: pending calls settle, or reject with "engine-closed", as later ones do. */
  close(): Promise<void>;
}

/** The weights a request means when it names none. */
export const policyWeights = "policy";

export interface EngineInfo {
  readonly name: string;
  readonly device: string;
  /** Whose code computes the model: the engine's, or transformers', which is slower. Absent where there is no model. */
  readonly implementation?: "own" | "transformers";
  readonly vocabularySize: number;
  readonly contextLength: number;
  readonly parameters: number;
  readonly hasValues: boolean;
  readonly hasAdapters?: boolean;
  /** Whether `step` can leave KV caches as they are. */
  readonly keepsCaches?: boolean;
  /** What of this contract it cannot do: refused by name. */
  readonly lacks?: readonly EngineLack[];
  /** Raised by every applied `step` of the policy; each sampled token carries the version it came from. */
  readonly policyVersion: number;
  readonly weights: readonly string[];
}

export type Tokens = readonly number[] | Int32Array;

export interface SampleRequest {
  /** Everything so far: prompt, earlier turns, observations. */
  tokens: Tokens;
  maxTokens: number;
  /**
   * The same seed, tokens and weights give the same continuation, whatever else is sampled: on the embedded engine to the bit, on
   * PyTorch up to rounding, some 1e-6 of a log-probability in float32: tokens differ only where a draw falls between two.
   */
  seed: number;
  /** 1 by default. 0 takes the most probable token and reports its log-probability at temperature 1. */
  temperature?: number;
  topP?: number;
  topK?: number;
  stopTokens?: readonly number[];
  stopStrings?: readonly string[];
  /** Calls that name the same rollout share a KV cache: a later turn prefills only what is new. */
  rollout?: string;
  weights?: string;
  /** How many of the most probable alternatives to return at each position. */
  alternatives?: number;
}

export type SampleStop = "stop-token" | "stop-string" | "max-tokens" | "context-full";

export interface Sample {
  /** The sampled tokens, a final stop token included. */
  readonly tokens: Int32Array;
  /** Log-probability of each token under the model at the request's temperature. */
  readonly logprobs: Float32Array;
  /** With top-p or top-k: the log-probability under the truncated, renormalised distribution that was sampled from. */
  readonly cutLogprobs?: Float32Array;
  /** The policy version behind each token. */
  readonly versions: Int32Array;
  readonly stop: SampleStop;
  readonly alternatives?: Alternatives;
}

/** Row-major `[T, K]`, most probable first. */
export interface Alternatives {
  readonly count: number;
  readonly tokens: Int32Array;
  readonly logprobs: Float32Array;
}

export interface TokenRow {
  tokens: Tokens;
  /** 1 where numbers are wanted. All but the first position by default; position 0 has none. */
  mask?: readonly number[] | Uint8Array;
  /** `[T, K]` token ids whose log-probabilities are wanted besides the row's own (distillation). */
  candidates?: { count: number; tokens: Int32Array };
}

export interface TokenBatch {
  rows: readonly TokenRow[];
}

export interface ForwardOptions {
  weights?: string;
  /** 1 by default; must be that of the sampling for log-probabilities to be comparable. Above 0. */
  temperature?: number;
  /** Known from sampling with these very weights: returned as they are, entropies 0, nothing computed twice. Refused when the policy moved on. */
  sampled?: { logprobs_B_T: readonly Float32Array[]; policyVersion: number };
  /** Return this many most probable tokens per position. */
  alternatives?: number;
}

/** Positions outside a row's mask are 0. */
export interface Forward {
  readonly id: number;
  readonly policyVersion: number;
  readonly logprobs_B_T: readonly Float32Array[];
  readonly entropies_B_T: readonly Float32Array[];
  /** Present where the engine has a value head. */
  readonly values_B_T?: readonly Float32Array[];
  /** `[T, K]` per row, in the order of the row's `candidates`. */
  readonly candidates_B_T?: readonly Float32Array[];
  readonly alternatives_B_T?: readonly Alternatives[];
}

/** dLoss/dlogprob, dLoss/dentropy, dLoss/dvalue and dLoss/dlogprob of the candidates. What is absent is 0. */
export interface Derivatives {
  logprobs_B_T?: readonly Float32Array[];
  entropies_B_T?: readonly Float32Array[];
  values_B_T?: readonly Float32Array[];
  candidates_B_T?: readonly Float32Array[];
}

export interface OptimizerOptions {
  learningRate: number;
  /** Decoupled, on matrices only. 0 by default. */
  weightDecay?: number;
  beta1?: number;
  beta2?: number;
  epsilon?: number;
  /** Clip the global norm of the gradient to this. */
  maxGradientNorm?: number;
  weights?: string;
  /** KV caches of running sequences and rollouts: computed anew with the new weights, or kept where `info.keepsCaches`. */
  caches?: "recompute" | "keep";
}

export interface StepReport {
  /** Global norm before clipping. */
  readonly gradientNorm?: number;
  /** False when the gradient was not finite: nothing was changed. */
  readonly applied: boolean;
  readonly clipped: boolean;
  readonly policyVersion: number;
}

export interface SaveOptions {
  /** For a sampler: the policy's weights, its adapter, or weights as processes of one machine may share them. Everything by default. */
  only?: "weights" | "adapter" | "shared";
}

export interface LoadOptions {
  /** "fresh" leaves the saved optimizer state out: moments are 0 and Adam counts from the first step. "keep" by default. */
  optimizer?: "keep" | "fresh";
}

export interface SnapshotOptions {
  /** Which weights to copy; the policy's by default. */
  from?: string;
  trainable?: boolean;
}
