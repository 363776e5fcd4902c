import { engineSampler } from "../engine-sampler.ts";
import type { Sampler } from "../sampler.ts";
import { type TorchOptions, torch } from "./torch.ts";

/** Weights come from the trainer. */
export type TorchSamplerOptions = Omit<TorchOptions, "model" | "folder" | "seed" | "sampler" | "valueHead" | "lora">;

/**
 * A second PyTorch worker that samples for a trainer: on another GPU, or on another machine with `connect`. Weights travel as
 * safetensors in a folder that both workers can read.
 */
export function torchSampler(options: TorchSamplerOptions = {}): Sampler {
  return engineSampler("torch", ({ directory }) => torch({ ...options, folder: directory }));
}
