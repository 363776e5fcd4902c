import { createRng } from "../../../random.ts";
import { type ModelConfig, tiny } from "../../model/model-config.ts";
import { rotationOf } from "../rotation.ts";
import type { WorkRow } from "../training-thread.ts";
import { weightLayout } from "../weights.ts";
import { KernelTrainer } from "./kernel-trainer.ts";
import type { CompiledTraining } from "./training-kernels.ts";

/** A model with everything that a kernel is for. */
const config: ModelConfig = {
  ...tiny({ family: "qwen3", vocabularySize: 37, width: 48, layers: 2, contextLength: 128 }),
  ...{ headWidth: 16, heads: 4, keyValueHeads: 2, feedForwardWidth: 80 },
  biases: { queryKeyValue: true, output: true, feedForward: true },
};
/** More than a block of attention after a shared prefix, and more than one panel of keys in both. */
const lengths = [61, 18, 1];
const sharedPrefix = 19;

/** The gradient of a small model with random weights. */
export function tryTrainingKernels(compiled: CompiledTraining): Uint8Array {
  const layout = weightLayout(config, true);
  const rng = createRng(1);
  const weights = Float32Array.from({ length: layout.size }, () => 0.2 * rng.normal());
  const trainer = new KernelTrainer({ config, valueHead: true, layout, rotation: rotationOf(config), compiled });
  const prefix = Array.from({ length: sharedPrefix }, () => rng.integer(config.vocabularySize));
  const rows = lengths.map((length): WorkRow => {
    const own = Array.from({ length }, () => rng.integer(config.vocabularySize));
    const wanted = Int32Array.from({ length }, (_, i) => sharedPrefix + i);
    const numbers = (count = length) => Float32Array.from({ length: count }, () => rng.normal());
    return {
      tokens: Int32Array.from([...prefix, ...own]),
      wanted,
      candidates: Int32Array.from({ length: 2 * length }, () => rng.integer(config.vocabularySize)),
      derivatives: { logprobs: numbers(), entropies: numbers(), values: numbers(), candidates: numbers(2 * length) },
    };
  });
  const gradient = new Float32Array(layout.size);
  const options = { temperature: 0.8, candidates: 2, alternatives: 0 };
  trainer.backward(weights, [{ rows, sharedPrefix: sharedPrefix - 1 }], options, gradient, true);
  return new Uint8Array(gradient.buffer);
}
