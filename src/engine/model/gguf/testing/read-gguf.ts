import { readFileSync } from "node:fs";

export interface ReadGguf {
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly tensors: ReadonlyMap<string, { readonly shape: readonly number[]; readonly data: Float32Array }>;
}

/** Reads a whole GGUF file of version 3, from the format's description, without what writes one. */
export function readGguf(path: string): ReadGguf {
  const bytes = readFileSync(path);
  let at = 0;
  const take = (length: number): Buffer => {
    at += length;
    return bytes.subarray(at - length, at);
  };
  const u32 = () => take(4).readUInt32LE();
  const u64 = () => Number(take(8).readBigUInt64LE());
  const string = () => take(u64()).toString("utf8");
  const value = (type: number): unknown => {
    if (type === 4) return u32();
    if (type === 5) return take(4).readInt32LE();
    if (type === 6) return take(4).readFloatLE();
    if (type === 7) return take(1)[0] === 1;
    if (type === 8) return string();
    if (type !== 9) throw new Error(`value of type ${type}`);
    const [inner, length] = [u32(), u64()];
    return Array.from({ length }, () => value(inner));
  };
  if (bytes.toString("latin1", 0, 4) !== "GGUF") throw new Error("no GGUF");
  at = 4;
  const version = u32();
  if (version !== 3) throw new Error(`version ${version}`);
  const [tensorCount, valueCount] = [u64(), u64()];
  const metadata = Object.fromEntries(Array.from({ length: valueCount }, () => [string(), value(u32())]));
  const infos = Array.from({ length: tensorCount }, () => {
    const name = string();
    const shape = Array.from({ length: u32() }, u64).reverse();
    return { name, shape, type: u32(), offset: u64() };
  });
  const start = Math.ceil(at / 32) * 32;
  const tensors = infos.map(({ name, shape, type, offset }) => {
    if (offset % 32 !== 0) throw new Error(`${name} is not aligned`);
    const count = shape.reduce((size, axis) => size * axis, 1);
    const size = type === 0 ? 4 : 2;
    const part = bytes.subarray(start + offset, start + offset + count * size);
    if (part.length !== count * size) throw new Error(`${name} is cut`);
    const data = Float32Array.from({ length: count }, (_, i) =>
      type === 0 ? part.readFloatLE(i * 4) : half(part.readUInt16LE(i * 2)),
    );
    return [name, { shape, data }] as const;
  });
  return { metadata, tensors: new Map(tensors) };
}

function half(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  return sign * (exponent === 0 ? fraction * 2 ** -24 : (1 + fraction / 1024) * 2 ** (exponent - 15));
}
