import type { Sample, SampleRequest } from "./engine.ts";

/**
 * Where tokens are sampled while the weights are trained elsewhere: another process, another GPU, a server. `splitEngine` makes an engine
 * of a trainer and samplers.
 *
 *     await sampler.use({ directory: "/shared/policy-7", version: 7, kind: "model" });
 *     const { tokens, versions } = await sampler.sample({ tokens: [5, 6], maxTokens: 2, seed: 1 });    // versions = [7, 7]
 *
 * A sampler that cannot be reached throws a `LudusError` with a code of `goneCodes`, and `use` is what brings it back: it reconnects or
 * starts again. Any other error is the request's.
 */
export interface Sampler {
  readonly name: string;
  /** Which weights it can load: a whole model, an adapter on a base that it has already, or what the trainer's engine shares on its machine. */
  readonly takes: PublishedWeights["kind"];
  /**
   * Called before the first sample, after every change of the policy, and to bring a sampler back. Samples that are asked for afterwards
   * come from these weights. A sequence that is being sampled goes on with the new ones where the sampler can do that, else it ends with
   * the old ones; its versions say which.
   */
  use(weights: PublishedWeights): Promise<void>;
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
  /** Frees a rollout's KV cache. */
  release?(rollout: string): Promise<void>;
  close?(): Promise<void>;
}

/** Weights in a folder that trainer and sampler can both read: `config.json` and safetensors, or the files of PEFT. */
export interface PublishedWeights {
  readonly directory: string;
  /** The policy's version: samples carry it. */
  readonly version: number;
  readonly kind: "model" | "adapter" | "shared";
}

/** Errors that say that a sampler is not there, whatever it is asked. */
export const goneCodes: readonly string[] = [
  "sampler-gone",
  "sampler-unreachable",
  "worker-died",
  "engine-failed",
  "engine-closed",
  "connection-lost",
];
