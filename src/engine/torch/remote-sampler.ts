import type { Sample, SampleRequest } from "../engine.ts";

/** An adapter of the policy, as PEFT's files in a folder that the sampler can read. */
export interface PolicyAdapter {
  directory: string;
  version: number;
}

/** A server that samples from the policy in the worker's place. It holds the base model; the policy is an adapter on it. */
export interface RemoteSampler {
  readonly name: string;
  /** Called before the first sample and after every change of the policy: samples asked for from then on come from it. */
  use(adapter: PolicyAdapter): Promise<void>;
  sample(request: SampleRequest, signal?: AbortSignal): Promise<Sample>;
}
