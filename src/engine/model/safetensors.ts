import { closeSync, existsSync, fstatSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { modelFile, parseModelJson, readModelJson } from "../../model-file.ts";
import { maxTransfer, writeBytes, writeFileAtomically } from "./write-file.ts";

export interface TensorInfo {
  readonly shape: readonly number[];
  /** As the file says it: F32, BF16, … */
  readonly dtype: string;
}

/** Tensors on disk. Headers are read at once, numbers only when asked for; close it when done. */
export interface TensorSource {
  readonly tensors: ReadonlyMap<string, TensorInfo>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Reads one tensor as float32. Every call reads anew, so that nothing is held that the caller dropped. */
  tensor(name: string): Float32Array;
  close(): void;
}

export interface NamedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  /** A function is called when its tensor is written, so a model need not be in memory twice to be saved. */
  readonly data: Float32Array | (() => Float32Array);
}

interface StoredTensor extends TensorInfo {
  readonly begin: number;
  readonly end: number;
}

const indexFile = "model.safetensors.index.json";
const pieceBytes = 1 << 22;
const bytesPerNumber: Readonly<Record<string, number>> = {
  F64: 8,
  I64: 8,
  U64: 8,
  F32: 4,
  I32: 4,
  U32: 4,
  F16: 2,
  BF16: 2,
  I16: 2,
  U16: 2,
  I8: 1,
  U8: 1,
  BOOL: 1,
  F8_E4M3: 1,
  F8_E5M2: 1,
};

const Metadata = z.record(z.string(), z.string());
const whole = z.int().nonnegative();
const HeaderEntry = z.object({ dtype: z.string(), shape: z.array(whole), data_offsets: z.tuple([whole, whole]) });
const CheckpointIndex = z.looseObject({ weight_map: z.record(z.string(), z.string()) });

/** Opens one safetensors file. It stays open, so that replacing it on disk does not mix two versions. */
export function readSafetensors(path: string): TensorSource {
  const file = openFile(path);
  try {
    const { dataStart, metadata, stored } = readHeader(file, path);
    let isOpen = true;
    return {
      tensors: stored,
      metadata,
      tensor(name) {
        // The system may have given the number of a closed file to another one.
        if (!isOpen)
          throw new LudusError("checkpoint-closed", { got: `a read of ${path}`, expected: "none after close" });
        const info = stored.get(name) ?? missingTensor(name, path, stored);
        return readNumbers(file, dataStart + info.begin, info, `${name} in ${path}`);
      },
      close() {
        if (isOpen) closeSync(file);
        isOpen = false;
      },
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** Opens a folder with `model.safetensors`, or with `model.safetensors.index.json` and the shards it names. */
export function openCheckpoint(directory: string): TensorSource {
  const [single, index] = ["model.safetensors", indexFile];
  if (existsSync(join(directory, single))) return readSafetensors(modelFile(directory, single));
  if (existsSync(join(directory, index))) return openShards(directory, join(directory, index));
  const hasPickle = existsSync(join(directory, "pytorch_model.bin"));
  throw new LudusError("checkpoint-not-found", {
    got: `${directory} with neither file`,
    expected: "model.safetensors or model.safetensors.index.json",
    ...defined({
      hint: hasPickle ? "Convert pytorch_model.bin with save_pretrained(..., safe_serialization=True)." : undefined,
    }),
  });
}

function openShards(directory: string, index: string): TensorSource {
  const fileOf = readWeightMap(directory, index);
  const shards = new Map<string, TensorSource>();
  const close = (): void => shards.forEach((shard) => void shard.close());
  try {
    for (const file of new Set(fileOf.values())) shards.set(file, readSafetensors(modelFile(directory, file)));
    const tensors = new Map<string, TensorInfo>();
    for (const [name, file] of fileOf) {
      const shard = shards.get(file)!;
      tensors.set(name, shard.tensors.get(name) ?? missingTensor(name, join(directory, file), shard.tensors));
    }
    return {
      tensors,
      metadata: shards.values().next().value?.metadata ?? {},
      tensor: (name) => (shards.get(fileOf.get(name) ?? "") ?? missingTensor(name, index, tensors)).tensor(name),
      close,
    };
  } catch (error) {
    close();
    throw error;
  }
}

function readWeightMap(directory: string, index: string): Map<string, string> {
  const parsed = CheckpointIndex.safeParse(readModelJson(directory, indexFile));
  if (!parsed.success) throw badHeader(index, parsed.error.message, 'an object with "weight_map"');
  const fileOf = new Map(Object.entries(parsed.data.weight_map));
  const shards = new Set(fileOf.values()).size;
  if (shards > bounds.modelShards) throw badHeader(index, `${shards} shards`, `at most ${bounds.modelShards}`);
  return fileOf;
}

function readHeader(file: number, path: string) {
  const fileBytes = fstatSync(file).size;
  if (fileBytes < 8) throw truncated(path, `${fileBytes} bytes`, "at least 8");
  const prefix = new BigUint64Array(1);
  readBytes(file, new Uint8Array(prefix.buffer), 0, path);
  if (prefix[0] > bounds.safetensorsHeaderBytes) {
    throw new LudusError("safetensors-header-too-large", {
      got: `a header of ${prefix[0]} bytes in ${path}`,
      expected: `at most ${bounds.safetensorsHeaderBytes}`,
      hint: "Most likely this is no safetensors file.",
    });
  }
  const dataStart = 8 + Number(prefix[0]);
  if (dataStart > fileBytes) throw truncated(path, `${fileBytes} bytes`, `${dataStart} for the header alone`);
  const text = new Uint8Array(dataStart - 8);
  readBytes(file, text, 8, path);
  return { dataStart, ...parseHeader(new TextDecoder().decode(text), fileBytes - dataStart, path) };
}

function parseHeader(text: string, dataBytes: number, path: string) {
  const header = z.record(z.string(), z.unknown()).safeParse(parseJson(text));
  if (!header.success) throw badHeader(path, "a header that is no JSON object", "names with dtype, shape and offsets");
  let metadata: Record<string, string> = {};
  const stored = new Map<string, StoredTensor>();
  for (const [name, value] of Object.entries(header.data)) {
    if (name === "__metadata__") {
      const parsed = Metadata.safeParse(value);
      if (!parsed.success) throw badHeader(path, "__metadata__ that is no map of strings", "strings only");
      metadata = parsed.data;
    } else {
      const parsed = HeaderEntry.safeParse(value);
      if (!parsed.success)
        throw badHeader(path, `entry ${name} = ${JSON.stringify(value)}`, "dtype, shape, data_offsets");
      const [begin, end] = parsed.data.data_offsets;
      stored.set(name, { shape: parsed.data.shape, dtype: parsed.data.dtype, begin, end });
    }
  }
  checkOffsets(stored, dataBytes, path);
  return { metadata, stored };
}

/** The format allows neither gaps nor overlaps nor bytes that belong to no tensor. */
function checkOffsets(stored: ReadonlyMap<string, StoredTensor>, dataBytes: number, path: string): void {
  let reached = 0;
  const byPlace = [...stored].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  for (const [name, { dtype, shape, begin, end }] of byPlace) {
    const at = `${name} at bytes ${begin} to ${end} in ${path}`;
    if (begin !== reached) {
      throw badOffsets(at, `it to begin where the one before it ends, at ${reached}`);
    }
    const size = bytesPerNumber[dtype];
    if (end < begin || (size !== undefined && end - begin !== size * elements(shape))) {
      throw badOffsets(at, `the ${size === undefined ? "" : `${size * elements(shape)} `}bytes of ${dtype} [${shape}]`);
    }
    reached = end;
  }
  if (reached > dataBytes) throw truncated(path, `${dataBytes} bytes of numbers`, `${reached}`);
  if (reached < dataBytes) throw badOffsets(`${dataBytes} bytes of numbers in ${path}`, `${reached}, all of a tensor`);
}

function readNumbers(file: number, position: number, info: StoredTensor, what: string): Float32Array {
  const numbers = new Float32Array(elements(info.shape));
  const convert = converters[info.dtype];
  if (info.dtype === "F32") {
    readBytes(file, new Uint8Array(numbers.buffer), position, what);
  } else if (convert === undefined) {
    throw new LudusError("unsupported-dtype", {
      got: `${info.dtype} of ${what}`,
      expected: `F32 or one of ${Object.keys(converters).join(", ")}`,
      hint: "Quantized checkpoints cannot be trained; take the one it was made from.",
    });
  } else {
    const piece = new ArrayBuffer(Math.min(pieceBytes, info.end - info.begin));
    const size = bytesPerNumber[info.dtype];
    for (let done = 0; done < numbers.length; done += piece.byteLength / size) {
      const length = Math.min(piece.byteLength / size, numbers.length - done);
      readBytes(file, new Uint8Array(piece, 0, length * size), position + done * size, what);
      convert(piece, numbers.subarray(done, done + length));
    }
  }
  return numbers;
}

// Bits are moved as integers: going through a JavaScript number may change the payload of a NaN.
// Typed arrays have the machine's byte order and files the little-endian one; Node runs ONNX Runtime on no other machine.
const converters: Readonly<Record<string, (bytes: ArrayBuffer, numbers: Float32Array) => void>> = {
  BF16(bytes, numbers) {
    const halves = new Uint16Array(bytes);
    const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
    for (let i = 0; i < words.length; i++) words[i] = halves[i] << 16;
  },
  F16(bytes, numbers) {
    const halves = new Uint16Array(bytes);
    const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
    for (let i = 0; i < words.length; i++) words[i] = float16ToFloat32Bits(halves[i]);
  },
  F64(bytes, numbers) {
    numbers.set(new Float64Array(bytes, 0, numbers.length));
  },
  I64(bytes, numbers) {
    const integers = new BigInt64Array(bytes);
    for (let i = 0; i < numbers.length; i++) numbers[i] = Number(integers[i]);
  },
};

function float16ToFloat32Bits(half: number): number {
  const sign = (half & 0x8000) << 16;
  const exponent = (half >> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0x1f) return sign | 0x7f800000 | (fraction << 13);
  if (exponent !== 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
  if (fraction === 0) return sign;
  // Subnormal in 16 bits, normal in 32: shift the leading one up to where it becomes the hidden bit.
  const shift = Math.clz32(fraction) - 21;
  return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
}

/**
 * Writes float32 tensors, one at a time, then puts the file in place at once: whoever reads the path finds the old file or
 * the new one, whole. The same tensors give the same bytes in whatever order they come, and those of Python's `save_file`.
 */
export function writeSafetensors(
  path: string,
  tensors: Iterable<NamedTensor>,
  metadata: Readonly<Record<string, string>> = { format: "pt" },
): void {
  const sorted = [...tensors].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  const header = makeHeader(sorted, metadata);
  writeFileAtomically(path, (file) => {
    writeBytes(file, header);
    for (const tensor of sorted) writeTensor(file, tensor);
  });
}

function makeHeader(tensors: readonly NamedTensor[], metadata: Readonly<Record<string, string>>): Uint8Array {
  const strings = Object.entries(metadata).sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = [`"__metadata__":${JSON.stringify(Object.fromEntries(strings))}`];
  let offset = 0;
  for (const [index, { name, shape }] of tensors.entries()) {
    if (name === "__metadata__" || name === tensors[index - 1]?.name) {
      throw new LudusError("bad-tensor-name", {
        got: `a tensor named ${name}`,
        expected: "a name of its own for each",
      });
    }
    const end = offset + 4 * elements(shape);
    parts.push(`${JSON.stringify(name)}:{"dtype":"F32","shape":[${shape}],"data_offsets":[${offset},${end}]}`);
    offset = end;
  }
  const text = new TextEncoder().encode(`{${parts.join(",")}}`);
  const padded = new Uint8Array(8 + Math.ceil(text.length / 8) * 8).fill(0x20);
  new DataView(padded.buffer).setBigUint64(0, BigInt(padded.length - 8), true);
  padded.set(text, 8);
  return padded;
}

function writeTensor(file: number, { name, shape, data }: NamedTensor): void {
  const numbers = typeof data === "function" ? data() : data;
  if (numbers.length !== elements(shape)) {
    const got = `${numbers.length} numbers for ${name}`;
    throw new LudusError("bad-tensor-shape", { got, expected: `${elements(shape)}, for shape [${shape}]` });
  }
  writeBytes(file, new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
}

function readBytes(file: number, bytes: Uint8Array, position: number, what: string): void {
  for (let done = 0; done < bytes.length; ) {
    const count = readSync(file, bytes, done, Math.min(maxTransfer, bytes.length - done), position + done);
    if (count === 0) throw truncated(what, `${done} bytes`, `${bytes.length}`);
    done += count;
  }
}

function openFile(path: string): number {
  try {
    return openSync(path, "r");
  } catch (cause) {
    throw new LudusError("checkpoint-not-found", { got: `no readable ${path}`, expected: "a safetensors file", cause });
  }
}

function parseJson(text: string): unknown {
  try {
    return parseModelJson(text);
  } catch {
    return undefined;
  }
}

function elements(shape: readonly number[]): number {
  return shape.reduce((size, axis) => size * axis, 1);
}

function missingTensor(name: string, where: string, known: ReadonlyMap<string, unknown>): never {
  const some = [...known.keys()].slice(0, 3).join(", ");
  throw new LudusError("missing-tensor", {
    got: `${name}, which is not in ${where}`,
    expected: `one of its ${known.size} tensors, such as ${some}`,
    hint: "Do config.json and the weights belong to the same model?",
  });
}

function truncated(what: string, got: string, expected: string): LudusError {
  const hint = "The file is not complete: was the download or the copy interrupted?";
  return new LudusError("safetensors-truncated", { got: `${what} with ${got}`, expected, hint });
}

function badHeader(path: string, got: string, expected: string): LudusError {
  return new LudusError("safetensors-bad-header", { got: `${path}: ${got.slice(0, 500)}`, expected });
}

function badOffsets(got: string, expected: string): LudusError {
  return new LudusError("safetensors-bad-offsets", { got, expected, hint: "The file is damaged; get it again." });
}
