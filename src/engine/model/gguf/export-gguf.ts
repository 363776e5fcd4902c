import { existsSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { LudusError } from "../../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../../known-options.ts";
import { loadTokenizer } from "../../../policy/load-tokenizer.ts";
import { readModelFolder } from "../model-folder.ts";
import { openCheckpoint } from "../safetensors.ts";
import { adapterMetadata, adapterTensors, hasAdapter, mergedReader, openAdapter } from "./gguf-adapter.ts";
import { type GgufMetadata, writeGguf } from "./gguf-file.ts";
import { architectureMetadata, modelTensors } from "./gguf-model.ts";
import { tokenizerMetadata } from "./gguf-tokenizer.ts";

export interface GgufOptions {
  /** Of matrices; vectors are float32 always. float32 is what was trained; float16 is half as large. */
  type: "f32" | "f16";
  /** Of a folder with a LoRA adapter: into the base's weights, or a file of its own that is loaded beside the base. */
  adapter: "merged" | "apart";
  /** The folder of the model that an adapter was trained on. By default the one that PEFT's file names, where it is there. */
  base: string;
  /** What the file says the model is called. The folder's name by default. */
  name: string;
}

const known: KnownOptions<GgufOptions> = { type: true, adapter: true, base: true, name: true };

/**
 * Writes the model of a Hugging Face folder as one GGUF file with its tokenizer and its chat template, for llama.cpp and what is made
 * with it, such as Ollama and LM Studio.
 */
export async function exportGguf(folder: string, path: string, options: Partial<GgufOptions> = {}): Promise<void> {
  refuseUnknownOptions("exportGguf", options, known);
  const { type = "f32", adapter = "merged", name = basename(resolve(folder)) } = options;
  refuseOtherValue("exportGguf: type", type, ["f32", "f16"]);
  refuseOtherValue("exportGguf: adapter", adapter, ["merged", "apart"]);
  if (!hasAdapter(folder)) return writeModel(folder, path, { type, name });
  if (adapter === "apart") return writeAdapter(folder, path);
  return writeModel(folder, path, { type, name }, options.base);
}

function writeAdapter(folder: string, path: string): void {
  const { config } = readModelFolder(folder);
  const adapter = openAdapter(folder);
  try {
    writeGguf(path, adapterMetadata(adapter, config), adapterTensors(adapter, config));
  } finally {
    adapter.tensors.close();
  }
}

async function writeModel(
  folder: string,
  path: string,
  { type, name }: Pick<GgufOptions, "type" | "name">,
  base?: string,
): Promise<void> {
  const { config } = readModelFolder(folder);
  const metadata: GgufMetadata = {
    "general.architecture": { type: "string", value: config.family },
    "general.name": { type: "string", value: name },
    "general.file_type": { type: "uint32", value: type === "f32" ? 0 : 1 },
    ...architectureMetadata(config),
    ...tokenizerMetadata(await loadTokenizer(folder), config),
  };
  const adapter = hasAdapter(folder) ? openAdapter(folder) : undefined;
  try {
    const source = openCheckpoint(adapter === undefined ? folder : baseFolder(folder, base ?? adapter.base));
    try {
      const read =
        adapter === undefined ? (name: string) => source.tensor(name) : mergedReader(source, adapter, config);
      writeGguf(path, metadata, modelTensors(config, type, read));
    } finally {
      source.close();
    }
  } finally {
    adapter?.tensors.close();
  }
}

function baseFolder(folder: string, base: string | undefined): string {
  if (base !== undefined && existsSync(join(base, "config.json"))) return base;
  throw new LudusError("no-base-model", {
    got: `an adapter in ${folder} whose base is ${base === undefined ? "not named" : `"${base}"`}`,
    expected: "the folder of the model that it was trained on",
    hint: "Name it: --base <folder>, or { base }. Or write the adapter by itself: --adapter apart.",
  });
}
