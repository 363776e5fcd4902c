import { LudusError } from "../../../errors.ts";
import { writeBytes, writeFileAtomically } from "../write-file.ts";

/** A value of GGUF's metadata, with the type that readers expect of its key. */
export type GgufValue =
  | { readonly type: "uint32" | "float32"; readonly value: number }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "strings"; readonly value: readonly string[] }
  | { readonly type: "int32s"; readonly value: readonly number[] };

export type GgufMetadata = Readonly<Record<string, GgufValue>>;

export interface GgufTensor {
  readonly name: string;
  /** As in PyTorch: rows first. */
  readonly shape: readonly number[];
  readonly type: "f32" | "f16";
  /** Called when the tensor is written: a model need not be in memory as a whole. */
  readonly data: () => Float32Array;
}

const alignment = 32;
const valueTypes = { uint32: 4, int32: 5, float32: 6, bool: 7, string: 8, array: 9 } as const;
const tensorTypes = { f32: 0, f16: 1 } as const;
const encoder = new TextEncoder();

/** Writes a GGUF file of version 3, one tensor at a time. Readers find the old file or the new one, whole. */
export function writeGguf(path: string, metadata: GgufMetadata, tensors: readonly GgufTensor[]): void {
  const header = ggufHeader(metadata, tensors);
  writeFileAtomically(path, (file) => {
    writeBytes(file, header);
    for (const tensor of tensors) {
      const bytes = tensorBytes(tensor);
      writeBytes(file, bytes);
      writeBytes(file, new Uint8Array(padding(bytes.length)));
    }
  });
}

function ggufHeader(metadata: GgufMetadata, tensors: readonly GgufTensor[]): Uint8Array {
  const entries = Object.entries(metadata);
  const parts = [encoder.encode("GGUF"), uint32(3), uint64(tensors.length), uint64(entries.length)];
  for (const [key, value] of entries) {
    parts.push(...text(key));
    // one by one: a vocabulary is longer than a call may have arguments
    for (const part of valueParts(value)) parts.push(part);
  }
  let offset = 0;
  for (const { name, shape, type } of tensors) {
    parts.push(...text(name), uint32(shape.length), ...shape.toReversed().map(uint64));
    parts.push(uint32(tensorTypes[type]), uint64(offset));
    const bytes = elements(shape) * (type === "f32" ? 4 : 2);
    offset += bytes + padding(bytes);
  }
  const whole = Buffer.concat(parts);
  return Buffer.concat([whole, new Uint8Array(padding(whole.length))]);
}

function valueParts(value: GgufValue): Uint8Array[] {
  switch (value.type) {
    case "uint32":
      return [uint32(valueTypes.uint32), uint32(value.value)];
    case "float32":
      return [uint32(valueTypes.float32), new Uint8Array(new Float32Array([value.value]).buffer)];
    case "bool":
      return [uint32(valueTypes.bool), Uint8Array.of(value.value ? 1 : 0)];
    case "string":
      return [uint32(valueTypes.string), ...text(value.value)];
    case "strings":
      return [...arrayParts(valueTypes.string, value.value.length), ...value.value.flatMap(text)];
    case "int32s":
      return [...arrayParts(valueTypes.int32, value.value.length), new Uint8Array(Int32Array.from(value.value).buffer)];
    default:
      return value satisfies never;
  }
}

function arrayParts(type: number, length: number): Uint8Array[] {
  return [uint32(valueTypes.array), uint32(type), uint64(length)];
}

function text(value: string): [Uint8Array, Uint8Array] {
  const bytes = encoder.encode(value);
  return [uint64(bytes.length), bytes];
}

function uint32(value: number): Uint8Array {
  return new Uint8Array(Uint32Array.of(value).buffer);
}

function uint64(value: number): Uint8Array {
  return new Uint8Array(BigUint64Array.of(BigInt(value)).buffer);
}

function padding(bytes: number): number {
  return (alignment - (bytes % alignment)) % alignment;
}

function elements(shape: readonly number[]): number {
  return shape.reduce((size, axis) => size * axis, 1);
}

function tensorBytes({ name, shape, type, data }: GgufTensor): Uint8Array {
  const numbers = data();
  if (numbers.length !== elements(shape)) {
    const got = `${numbers.length} numbers for ${name}`;
    throw new LudusError("bad-tensor-shape", { got, expected: `${elements(shape)}, for shape [${shape}]` });
  }
  if (type === "f32") return new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
  const halves = new Uint16Array(numbers.length);
  const words = new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  for (let i = 0; i < words.length; i++) {
    halves[i] = float16Bits(words[i]);
    if ((halves[i] & 0x7c00) === 0x7c00) {
      throw new LudusError("weight-too-large", {
        got: `${numbers[i]} in ${name}`,
        expected: "numbers within float16, up to 65504",
        hint: 'Write float32: --type f32, or { type: "f32" }.',
      });
    }
  }
  return new Uint8Array(halves.buffer);
}

/** The nearest float16 of a float32, ties to even, both as bits. Infinity for what is too large. */
export function float16Bits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const exponent = (bits >>> 23) & 0xff;
  const fraction = bits & 0x7fffff;
  if (exponent === 0xff) return sign | 0x7c00 | (fraction === 0 ? 0 : 0x200);
  const scale = exponent - 112;
  if (scale >= 31) return sign | 0x7c00;
  if (scale >= 1) return sign | rounded((scale << 23) | fraction, 13);
  // subnormal: the hidden one is shifted into the fraction
  return scale < -10 ? sign : sign | rounded(fraction | 0x800000, 14 - scale);
}

function rounded(value: number, shift: number): number {
  const kept = value >>> shift;
  const rest = value & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  return rest > half || (rest === half && (kept & 1) === 1) ? kept + 1 : kept;
}
