import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { policyWeights } from "../engine.ts";
import { type ModelConfig, parseModelConfig, toHuggingFaceConfig } from "./model-config.ts";
import { openCheckpoint, readSafetensors, type TensorSource, writeSafetensors } from "./safetensors.ts";
import { sharedFloats, slice, type WeightLayout } from "./weights.ts";
import { writeFolderAtomically } from "./write-file.ts";

type Shared = Float32Array<SharedArrayBuffer>;

/** One named set of weights as it is saved. */
export interface SavedSet {
  name: string;
  weights: Shared;
  version: number;
  training?: { firstMoments: Shared; secondMoments: Shared; steps: number };
}

export interface ModelFolder {
  config: ModelConfig;
  valueHead: boolean;
  readSets(config: ModelConfig, layout: WeightLayout): SavedSet[];
}

/** Besides Hugging Face's files: what is needed to go on to the bit. Absent in a folder made by others. */
const stateFile = "ludus.json";
const State = z.object({
  format: z.literal(1),
  valueHead: z.boolean(),
  sets: z.array(z.object({ name: z.string(), version: z.int(), steps: z.int().optional() })),
});

function setFile(name: string, part: string): string {
  return name === policyWeights && part === "weights"
    ? "model.safetensors"
    : `${part}.${encodeURIComponent(name)}.safetensors`;
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (cause) {
    throw new LudusError("bad-model-folder", {
      got: `${path}: ${errorText(cause)}`,
      expected: "a readable JSON file",
      cause,
    });
  }
}

/** Opens a Hugging Face folder; weights are read when asked for. */
export function readModelFolder(directory: string): ModelFolder {
  if (!existsSync(join(directory, "config.json"))) {
    throw new LudusError("checkpoint-not-found", {
      got: `"${directory}"`,
      expected: "a folder with config.json and model.safetensors",
      hint: "A folder written by save() or by transformers' save_pretrained().",
    });
  }
  const config = parseModelConfig(readJson(join(directory, "config.json")));
  const statePath = join(directory, stateFile);
  const state = existsSync(statePath) ? State.parse(readJson(statePath)) : undefined;
  return {
    config,
    valueHead: state?.valueHead ?? false,
    readSets(wanted, layout) {
      checkSameModel(config, wanted, directory);
      const sets = state?.sets ?? [{ name: policyWeights, version: 0 }];
      return sets.map((set) => readSet(directory, layout, set));
    },
  };
}

function checkSameModel(found: ModelConfig, wanted: ModelConfig, directory: string): void {
  const ignored: readonly string[] = ["tokens", "initializerRange"] satisfies (keyof ModelConfig)[];
  const keys = (Object.keys(wanted) as (keyof ModelConfig)[]).filter((key) => !ignored.includes(key));
  const different = keys.filter((key) => !isDeepStrictEqual(found[key], wanted[key]));
  if (different.length === 0) return;
  throw new LudusError("other-model", {
    got: `a model in "${directory}" that differs in ${different.join(", ")}`,
    expected: "the model this engine was made with",
    hint: "Make a new engine with embedded({ folder }).",
  });
}

function readSet(
  directory: string,
  layout: WeightLayout,
  set: { name: string; version: number; steps?: number | undefined },
): SavedSet {
  const from = (part: string): Shared => {
    const path = join(directory, setFile(set.name, part));
    const source = part === "weights" && set.name === policyWeights ? openCheckpoint(directory) : readSafetensors(path);
    try {
      return readInto(source, layout);
    } finally {
      source.close();
    }
  };
  const saved: SavedSet = { name: set.name, version: set.version, weights: from("weights") };
  if (set.steps !== undefined)
    saved.training = { firstMoments: from("first-moments"), secondMoments: from("second-moments"), steps: set.steps };
  return saved;
}

function readInto(source: TensorSource, layout: WeightLayout): Shared {
  const all = sharedFloats(layout.size);
  for (const parameter of layout.slices) {
    // a model made by others has no value head yet: it starts at 0, as a fresh one does
    if (parameter.name === "value_head.weight" && !source.tensors.has(parameter.name)) continue;
    const data = source.tensor(parameter.name);
    if (data.length !== parameter.size) {
      throw new LudusError("other-model", {
        got: `${parameter.name} with ${data.length} numbers`,
        expected: `${parameter.size}, [${parameter.shape.join(", ")}]`,
      });
    }
    slice(all, parameter).set(data);
  }
  return all;
}

export interface FolderContents {
  config: ModelConfig;
  valueHead: boolean;
  layout: WeightLayout;
  sets: readonly SavedSet[];
  tokenizer?: Tokenizer;
}

/** Writes the folder as a whole: it is there complete, or as it was before. */
export function writeModelFolder(directory: string, contents: FolderContents): void {
  writeFolderAtomically(directory, (partial) => fillModelFolder(partial, contents));
}

function fillModelFolder(directory: string, { config, valueHead, layout, sets, tokenizer }: FolderContents): void {
  const json = (name: string, value: unknown) =>
    writeFileSync(join(directory, name), `${JSON.stringify(value, null, 2)}\n`);
  json("config.json", toHuggingFaceConfig(config));
  json("generation_config.json", {
    _from_model_config: true,
    bos_token_id: config.tokens.bos,
    eos_token_id: config.tokens.eos.length > 1 ? config.tokens.eos : (config.tokens.eos[0] ?? null),
    pad_token_id: config.tokens.pad,
  });
  for (const [name, content] of Object.entries(tokenizer?.files() ?? {})) writeFileSync(join(directory, name), content);
  for (const { name, weights, training } of sets) {
    const write = (part: string, all: Shared) => {
      const tensors = layout.slices.map((parameter) => ({
        name: parameter.name,
        shape: parameter.shape,
        data: slice(all, parameter),
      }));
      writeSafetensors(join(directory, setFile(name, part)), tensors);
    };
    write("weights", weights);
    if (training !== undefined) {
      write("first-moments", training.firstMoments);
      write("second-moments", training.secondMoments);
    }
  }
  const state: z.infer<typeof State> = {
    format: 1,
    valueHead,
    sets: sets.map(({ name, version, training }) => ({
      name,
      version,
      ...defined({ steps: training === undefined ? undefined : training.steps }),
    })),
  };
  json(stateFile, state);
}
