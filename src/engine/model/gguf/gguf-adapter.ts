import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { LudusError } from "../../../errors.ts";
import { modelFile, readModelJson } from "../../../model-file.ts";
import { type ModelConfig, parameterShapes } from "../model-config.ts";
import { readSafetensors, type TensorSource } from "../safetensors.ts";
import type { GgufMetadata, GgufTensor } from "./gguf-file.ts";
import { ggufParameter, pairRows } from "./gguf-model.ts";

/** PEFT's two files of an adapter. */
const [configFile, weightsFile] = ["adapter_config.json", "adapter_model.safetensors"];

const nothing = z.union([z.null(), z.object({}).strict(), z.array(z.never())]).optional();
const AdapterConfig = z.looseObject({
  peft_type: z.literal("LORA"),
  r: z.int().positive(),
  lora_alpha: z.number().positive(),
  base_model_name_or_path: z.string().nullish(),
  bias: z.literal("none").default("none"),
  use_rslora: z.literal(false).default(false),
  use_dora: z.literal(false).default(false),
  rank_pattern: nothing,
  alpha_pattern: nothing,
  modules_to_save: nothing,
});

export interface Adapter {
  readonly alpha: number;
  readonly rank: number;
  /** What PEFT says the adapter was trained on. */
  readonly base?: string;
  readonly tensors: TensorSource;
}

export function hasAdapter(directory: string): boolean {
  return existsSync(join(directory, configFile));
}

/** Opens a folder with PEFT's files; close its tensors when done. */
export function openAdapter(directory: string): Adapter {
  const parsed = AdapterConfig.safeParse(readModelJson(directory, configFile));
  if (!parsed.success) {
    throw new LudusError("unsupported-adapter", {
      got: `${join(directory, configFile)}: ${z.prettifyError(parsed.error).slice(0, 500)}`,
      expected: "plain LoRA with one rank, without biases or whole modules",
      hint: "Merge it with PEFT's merge_and_unload() and export the merged model.",
    });
  }
  const { r, lora_alpha, base_model_name_or_path: base } = parsed.data;
  const tensors = readSafetensors(modelFile(directory, weightsFile));
  return { alpha: lora_alpha, rank: r, ...(base ? { base } : {}), tensors };
}

interface Pair {
  /** The parameter of the model that it is added to. */
  readonly parameter: string;
  readonly shape: readonly number[];
  readonly a: string;
  readonly b: string;
}

/** Which parameters an adapter changes; refuses one that this model does not have, or of another shape. */
function pairsOf({ tensors, rank }: Adapter, config: ModelConfig): Pair[] {
  const shapes = new Map(parameterShapes(config).map(({ name, shape }) => [name, shape]));
  const refuse = (name: string, expected: string): never => {
    const got = `${name} [${tensors.tensors.get(name)?.shape ?? ""}] in ${weightsFile}`;
    throw new LudusError("other-adapter", { got, expected, hint: "Is it an adapter of this very model?" });
  };
  const pairs = new Map<string, Pair>();
  for (const name of tensors.tensors.keys()) {
    const found = /^base_model\.model\.(.+)\.lora_([AB])\.weight$/.exec(name);
    const parameter = `${found?.[1]}.weight`;
    const shape = shapes.get(parameter);
    if (found === null || shape === undefined) return refuse(name, "pairs lora_A and lora_B of the model's matrices");
    const side = (letter: string) => name.replace(/lora_[AB]\.weight$/, `lora_${letter}.weight`);
    const [a, b] = [side("A"), side("B")];
    for (const [part, wanted] of [
      [a, [rank, shape[1]]],
      [b, [shape[0], rank]],
    ] as const) {
      if (String(tensors.tensors.get(part)?.shape) !== String(wanted)) refuse(part, `[${wanted}]`);
    }
    pairs.set(parameter, { parameter, shape, a, b });
  }
  return [...pairs.values()];
}

/** Reads the base's parameters with the adapter added: `W + alpha / rank * B A`. */
export function mergedReader(
  base: TensorSource,
  adapter: Adapter,
  config: ModelConfig,
): (name: string) => Float32Array {
  const pairs = new Map(pairsOf(adapter, config).map((pair) => [pair.parameter, pair]));
  const scale = adapter.alpha / adapter.rank;
  return (name) => {
    const weights = base.tensor(name);
    const pair = pairs.get(name);
    if (pair === undefined) return weights;
    const [a, b] = [adapter.tensors.tensor(pair.a), adapter.tensors.tensor(pair.b)];
    const [rows, columns] = pair.shape;
    for (let row = 0; row < rows; row++) {
      for (let k = 0; k < adapter.rank; k++) {
        const factor = scale * b[row * adapter.rank + k];
        for (let column = 0; column < columns; column++)
          weights[row * columns + column] += factor * a[k * columns + column];
      }
    }
    return weights;
  };
}

export function adapterMetadata({ alpha }: Adapter, { family }: ModelConfig): GgufMetadata {
  return {
    "general.type": { type: "string", value: "adapter" },
    "general.architecture": { type: "string", value: family },
    "adapter.type": { type: "string", value: "lora" },
    "adapter.lora.alpha": { type: "float32", value: alpha },
  };
}

/** The adapter's matrices as llama.cpp reads them beside the base, in float32. */
export function adapterTensors(adapter: Adapter, config: ModelConfig): GgufTensor[] {
  return pairsOf(adapter, config).flatMap(({ parameter, shape: [rows, columns], a, b }): GgufTensor[] => {
    const { name, rotatedHeads } = ggufParameter(parameter, config)!;
    const left = () => {
      const data = adapter.tensors.tensor(b);
      return rotatedHeads === undefined ? data : pairRows(data, rows, rotatedHeads);
    };
    return [
      { name: `${name}.lora_a`, shape: [adapter.rank, columns], type: "f32", data: () => adapter.tensors.tensor(a) },
      { name: `${name}.lora_b`, shape: [rows, adapter.rank], type: "f32", data: left },
    ];
  });
}
