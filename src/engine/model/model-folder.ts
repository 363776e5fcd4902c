import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { readModelJson } from "../../model-file.ts";
import type { Tokenizer } from "../../policy/tokenizer.ts";
import { type LoadOptions, policyWeights } from "../engine.ts";
import { type ModelConfig, parseModelConfig, toHuggingFaceConfig, valueHeadName } from "./model-config.ts";
import {
  type NamedTensor,
  openCheckpoint,
  readSafetensors,
  type TensorSource,
  writeSafetensors,
} from "./safetensors.ts";
import { writeFolderAtomically } from "./write-file.ts";

/**
 * At the top of a saved folder is the model and nothing else: vLLM loads every `*.safetensors` there as weights. What training
 * needs to go on is in this folder. Folders of earlier versions have it at the top.
 */
export const trainingFolder = "training";

/** One named set of weights as it is saved. `Weights` is what an engine keeps a set of tensors in. */
export interface SavedSet<Weights> {
  name: string;
  weights: Weights;
  version: number;
  /** Optimizer state; absent for frozen weights. */
  training?: { firstMoments: Weights; secondMoments: Weights; steps: number };
}

/** Without `training` where it was frozen, or where its optimizer state was left out. */
export interface LoadedSet<Weights> extends SavedSet<Weights> {
  isTrainable: boolean;
}

export interface ModelFolder {
  config: ModelConfig;
  valueHead: boolean;
  /** Reads every saved set; refused when the folder holds another model than `config`. */
  readSets<Weights>(
    config: ModelConfig,
    read: (tensors: TensorSource) => Weights,
    options?: LoadOptions,
  ): LoadedSet<Weights>[];
}

/** What an exact resume needs. Absent in folders written by other programs. */
const stateFile = "ludus.json";
const valueHeadFile = "value_head.safetensors";
const State = z.object({
  format: z.literal(1),
  valueHead: z.boolean(),
  sets: z
    .array(z.object({ name: z.string().max(200), version: z.int(), steps: z.int().nonnegative().optional() }))
    .max(bounds.modelShards),
});

function setFile(name: string, part: string): string {
  return `${part}.${encodeURIComponent(name)}.safetensors`;
}

function readState(directory: string): z.infer<typeof State> {
  const state = State.safeParse(readModelJson(directory, stateFile));
  if (state.success) return state.data;
  throw new LudusError("bad-model-folder", {
    got: `${join(directory, stateFile)}: ${z.prettifyError(state.error).slice(0, 500)}`,
    expected: "a file that save() of this version has written",
    hint: `Without ${stateFile} the folder opens as a model that was never trained here.`,
  });
}

/** Where in a saved folder the state of training is; undefined where there is none. */
function ownFolder(directory: string): string | undefined {
  return [join(directory, trainingFolder), directory].find((folder) => existsSync(join(folder, stateFile)));
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
  const config = readConfig(directory);
  const own = ownFolder(directory);
  const state = own === undefined ? undefined : readState(own);
  return {
    config,
    valueHead: state?.valueHead ?? false,
    readSets(wanted, read, { optimizer = "keep" } = {}) {
      checkSameModel(config, wanted, directory);
      const sets = state?.sets ?? [{ name: policyWeights, version: 0 }];
      return sets.map((set) => readSet(directory, set, read, optimizer === "keep"));
    },
  };
}

function readConfig(directory: string): ModelConfig {
  const raw = readModelJson(directory, "config.json");
  try {
    return parseModelConfig(raw);
  } catch (error) {
    if (!(error instanceof LudusError)) throw error;
    const { got, ...details } = error.details;
    throw new LudusError(error.code, { ...details, got: `${got} in ${join(directory, "config.json")}` });
  }
}

function checkSameModel(found: ModelConfig, wanted: ModelConfig, directory: string): void {
  const ignored: readonly string[] = ["tokens", "initializerRange"] satisfies (keyof ModelConfig)[];
  const keys = (Object.keys(wanted) as (keyof ModelConfig)[]).filter((key) => !ignored.includes(key));
  const different = keys.filter((key) => !isDeepStrictEqual(found[key], wanted[key]));
  if (different.length === 0) return;
  const shown = (model: ModelConfig) => different.map((key) => `${key} ${JSON.stringify(model[key])}`).join(", ");
  throw new LudusError("other-model", {
    got: `a model in "${directory}" that differs in ${shown(found)}`,
    expected: `the model this engine was made with, ${shown(wanted)}`,
    hint: "Make a new engine from the folder: embedded({ folder }) or torch({ folder }).",
  });
}

function readSet<Weights>(
  directory: string,
  set: { name: string; version: number; steps?: number | undefined },
  read: (tensors: TensorSource) => Weights,
  withOptimizer: boolean,
): LoadedSet<Weights> {
  const from = (part: string): Weights => {
    const isModel = part === "weights" && set.name === policyWeights;
    const own = ownFolder(directory) ?? directory;
    const source = isModel ? openPolicy(directory) : readSafetensors(join(own, setFile(set.name, part)));
    try {
      return read(source);
    } finally {
      source.close();
    }
  };
  const isTrainable = set.name === policyWeights || set.steps !== undefined;
  const saved: LoadedSet<Weights> = { name: set.name, version: set.version, weights: from("weights"), isTrainable };
  if (set.steps !== undefined && withOptimizer)
    saved.training = { firstMoments: from("first-moments"), secondMoments: from("second-moments"), steps: set.steps };
  return saved;
}

/** The model of a saved folder, and its value head where it has one. */
export function openPolicy(directory: string): TensorSource {
  const model = openCheckpoint(directory);
  const path = join(directory, trainingFolder, valueHeadFile);
  if (!existsSync(path)) return model;
  const head = readSafetensors(path);
  return {
    tensors: new Map([...model.tensors, ...head.tensors]),
    metadata: model.metadata,
    tensor: (name) => (head.tensors.has(name) ? head : model).tensor(name),
    close() {
      model.close();
      head.close();
    },
  };
}

/** The policy's tensors as `openPolicy` reads them. The value head is Ludus' alone: no other program knows the name. */
export function writePolicy(directory: string, tensors: readonly NamedTensor[]): void {
  const isHead = ({ name }: NamedTensor) => name === valueHeadName;
  writeSafetensors(
    join(directory, "model.safetensors"),
    tensors.filter((tensor) => !isHead(tensor)),
  );
  const head = tensors.filter(isHead);
  if (head.length > 0) writeSafetensors(join(directory, trainingFolder, valueHeadFile), head);
}

export interface FolderContents {
  config: ModelConfig;
  valueHead: boolean;
  sets: readonly SavedSet<readonly NamedTensor[]>[];
  tokenizer?: Tokenizer;
}

/** Writes the folder as a whole: it is there complete, or as it was before. */
export function writeModelFolder(directory: string, contents: FolderContents): void {
  writeFolderAtomically(directory, (partial) => fillModelFolder(partial, contents));
}

function fillModelFolder(directory: string, { config, valueHead, sets, tokenizer }: FolderContents): void {
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
  mkdirSync(join(directory, trainingFolder));
  for (const { name, weights, training } of sets) {
    const write = (part: string, tensors: readonly NamedTensor[]) =>
      writeSafetensors(join(directory, trainingFolder, setFile(name, part)), tensors);
    if (name === policyWeights) writePolicy(directory, weights);
    else write("weights", weights);
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
      ...defined({ steps: training?.steps }),
    })),
  };
  json(join(trainingFolder, stateFile), state);
}
