import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { engineSampler } from "../engine-sampler.ts";
import type { PublishedWeights, Sampler } from "../sampler.ts";
import { knownTorchOptions, type TorchOptions, torch } from "./torch.ts";

/** Weights come from the trainer. */
export interface TorchSamplerOptions
  extends Omit<TorchOptions, "model" | "folder" | "seed" | "sampler" | "valueHead" | "lora"> {
  /**
   * How they come: as safetensors in a folder that both workers can read, by default; or "shared", from GPU memory to GPU memory of one machine
   * (CUDA IPC), for a trainer that is `torch()` with one process and no `lora`. Where that trainer is not on a GPU they are files again.
   */
  weights?: "files" | "shared";
}

const known: KnownOptions<TorchSamplerOptions> = { ...withoutWeights(knownTorchOptions), weights: true };

function withoutWeights({
  model: _model,
  folder: _folder,
  seed: _seed,
  sampler: _sampler,
  valueHead: _valueHead,
  lora: _lora,
  ...rest
}: KnownOptions<TorchOptions>): Omit<KnownOptions<TorchSamplerOptions>, "weights"> {
  return rest;
}

/** A second PyTorch worker that samples for a trainer: on the same GPU, on another, or on another machine with `connect`. */
export function torchSampler(options: TorchSamplerOptions = {}): Sampler {
  refuseUnknownOptions("torchSampler", options, known);
  const { weights = "files", ...engine } = options;
  refuseOtherValue("weights of torchSampler", weights, ["files", "shared"]);
  if (weights === "shared" && engine.connect !== undefined) {
    throw new LudusError("bad-option", {
      got: 'torchSampler with weights "shared" and `connect`',
      expected: "one of them: memory is shared between workers that this program starts on one machine",
    });
  }
  const open = ({ directory }: PublishedWeights) => torch({ ...engine, folder: directory });
  return engineSampler("torch", open, weights === "shared" ? "shared" : "model");
}
