import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { engineSampler } from "../engine-sampler.ts";
import type { Sampler } from "../sampler.ts";
import { knownTorchOptions, type TorchOptions, torch } from "./torch.ts";

/** Weights come from the trainer. */
export type TorchSamplerOptions = Omit<TorchOptions, "model" | "folder" | "seed" | "sampler" | "valueHead" | "lora">;

const known: KnownOptions<TorchSamplerOptions> = withoutWeights(knownTorchOptions);

function withoutWeights({
  model: _model,
  folder: _folder,
  seed: _seed,
  sampler: _sampler,
  valueHead: _valueHead,
  lora: _lora,
  ...rest
}: KnownOptions<TorchOptions>): KnownOptions<TorchSamplerOptions> {
  return rest;
}

/**
 * A second PyTorch worker that samples for a trainer: on another GPU, or on another machine with `connect`. Weights travel as
 * safetensors in a folder that both workers can read.
 */
export function torchSampler(options: TorchSamplerOptions = {}): Sampler {
  refuseUnknownOptions("torchSampler", options, known);
  return engineSampler("torch", ({ directory }) => torch({ ...options, folder: directory }));
}
