import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Stored, toOnnx } from "../../tensor/index.ts";
import { readModelFolder } from "../model/model-folder.ts";
import { openCheckpoint, type TensorSource } from "../model/safetensors.ts";
import { writeBytes } from "../model/write-file.ts";
import { onnxGraph, rotationTables } from "./onnx-graph.ts";
import { rotationOf } from "./rotation.ts";

export interface OnnxOptions {
  /** Weights of more bytes than this go into `model.onnx_data`, beside the graph: one file may have 2 GiB at most. */
  maxInsideBytes: number;
}

const defaults: OnnxOptions = { maxInsideBytes: 1 << 30 };

const dataFile = "model.onnx_data";
/** So that readers can map tensors into memory. */
const alignment = 4096;

/**
 * Writes the model of a Hugging Face folder as `model.onnx` into a folder that is there: tokens in, logits out, in float32. It
 * takes sequences up to the context length; of longrope models, up to the original one.
 */
export function exportOnnx(modelFolder: string, directory: string, options: Partial<OnnxOptions> = {}): void {
  const { maxInsideBytes } = { ...defaults, ...options };
  const { config } = readModelFolder(modelFolder);
  const { maxLength, feeds } = rotationOf(config);
  const table = (name: "cos" | "sin") => [rotationTables[name], bytesOf(feeds[name].data as Float32Array)] as const;
  const { outputs, weights } = onnxGraph(config, maxLength);
  mkdirSync(directory, { recursive: true });
  const source = openCheckpoint(modelFolder);
  try {
    const bytes = weights.reduce((sum, name) => sum + 4 * elements(source, name), 0);
    const stored = bytes > maxInsideBytes ? beside(source, weights, directory) : inside(source, weights);
    writeFileSync(join(directory, "model.onnx"), toOnnx(outputs, new Map([...stored, table("cos"), table("sin")])));
  } finally {
    source.close();
  }
}

function inside(source: TensorSource, names: readonly string[]): Map<string, Stored> {
  return new Map(names.map((name) => [name, bytesOf(source.tensor(name))]));
}

/** One tensor at a time: a model need not fit into memory. */
function beside(source: TensorSource, names: readonly string[], directory: string): Map<string, Stored> {
  const file = openSync(join(directory, dataFile), "w");
  try {
    let offset = 0;
    return new Map(
      names.map((name) => {
        const bytes = bytesOf(source.tensor(name));
        const padding = (alignment - (offset % alignment)) % alignment;
        writeBytes(file, new Uint8Array(padding));
        writeBytes(file, bytes);
        const place = { location: dataFile, offset: offset + padding, length: bytes.length };
        offset = place.offset + bytes.length;
        return [name, place];
      }),
    );
  } finally {
    closeSync(file);
  }
}

function elements(source: TensorSource, name: string): number {
  return source.tensors.get(name)?.shape.reduce((a, b) => a * b, 1) ?? 0;
}

function bytesOf(numbers: Float32Array): Uint8Array {
  return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
}
