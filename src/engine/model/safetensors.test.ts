import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { LudusError } from "../../errors.ts";
import { openCheckpoint, readSafetensors, type TensorSource, writeSafetensors } from "./safetensors.ts";

let folder: string;
const opened: TensorSource[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-safetensors-"));
});
afterEach(() => {
  for (const source of opened.splice(0)) source.close();
  rmSync(folder, { recursive: true });
});

function open(source: TensorSource): TensorSource {
  opened.push(source);
  return source;
}

/** A file of any header and bytes, right or wrong. */
function rawFile(header: unknown, data: ArrayBufferView | Uint8Array = new Uint8Array(0), name = "raw.safetensors") {
  const text = new TextEncoder().encode(typeof header === "string" ? header : JSON.stringify(header));
  const length = new Uint8Array(8);
  new DataView(length.buffer).setBigUint64(0, BigInt(text.length), true);
  const path = join(folder, name);
  writeFileSync(path, Buffer.concat([length, text, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)]));
  return path;
}

function one(dtype: string, data: ArrayBufferView, shape: number[]): Float32Array {
  const path = rawFile({ x: { dtype, shape, data_offsets: [0, data.byteLength] } }, data);
  return open(readSafetensors(path)).tensor("x");
}

function codeOf(action: () => unknown): string {
  try {
    action();
  } catch (error) {
    if (error instanceof LudusError) return error.code;
    throw error;
  }
  return "no error";
}

const bits = (numbers: Float32Array) => [...new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length)];

describe("writing and reading back", () => {
  test("gives the same bits, shapes and metadata", () => {
    const path = join(folder, "model.safetensors");
    const b = Float32Array.of(0.1, -0, Number.NaN, Number.POSITIVE_INFINITY, 1e-45, -3.4e38);
    writeSafetensors(path, [
      { name: "b", shape: [2, 3], data: b },
      { name: "a", shape: [], data: () => Float32Array.of(7) },
      { name: "empty", shape: [0, 4], data: new Float32Array(0) },
    ]);
    const file = open(openCheckpoint(folder));
    expect([...file.tensors.keys()]).toEqual(["a", "b", "empty"]);
    expect(file.tensors.get("b")).toMatchObject({ shape: [2, 3], dtype: "F32" });
    expect(file.metadata).toEqual({ format: "pt" });
    expect(bits(file.tensor("b"))).toEqual(bits(b));
    expect(file.tensor("a")).toEqual(Float32Array.of(7));
    expect(file.tensor("empty")).toHaveLength(0);
    expect(readdirSync(folder)).toEqual(["model.safetensors"]);
  });

  test("the bytes depend neither on the order of the tensors nor on that of the metadata", () => {
    const [a, b] = [join(folder, "a"), join(folder, "b")];
    const tensors = ["x", "10", "9", "é"].map((name, i) => ({ name, shape: [1], data: Float32Array.of(i) }));
    writeSafetensors(a, tensors, { one: "1", two: "2" });
    writeSafetensors(b, [...tensors].reverse(), { two: "2", one: "1" });
    expect(readFileSync(a)).toEqual(readFileSync(b));
    expect(open(readSafetensors(a)).tensor("é")).toEqual(Float32Array.of(3));
  });

  test("numbers begin at a multiple of 8 bytes", () => {
    for (const name of ["a", "ab", "abc", "abcdefghi"]) {
      const path = join(folder, name);
      writeSafetensors(path, [{ name, shape: [1], data: Float32Array.of(1) }]);
      expect(readFileSync(path).readBigUInt64LE() % 8n).toBe(0n);
    }
  });

  test("a failed write leaves the old file and nothing else", () => {
    const path = join(folder, "model.safetensors");
    const good = { name: "a", shape: [1], data: Float32Array.of(1) };
    writeSafetensors(path, [good]);
    const before = readFileSync(path);
    const wrong = { name: "b", shape: [3], data: Float32Array.of(1) };
    expect(codeOf(() => writeSafetensors(path, [good, wrong]))).toBe("bad-tensor-shape");
    const failing = { name: "b", shape: [1], data: () => expect.fail("no data") };
    expect(() => writeSafetensors(path, [good, failing])).toThrow("no data");
    expect(readFileSync(path)).toEqual(before);
    expect(readdirSync(folder)).toEqual(["model.safetensors"]);
    expect(codeOf(() => writeSafetensors(join(folder, "none", "x"), [good]))).toBe("checkpoint-not-written");
  });

  test("a name that is taken or reserved is refused", () => {
    const tensor = (name: string) => ({ name, shape: [0], data: new Float32Array(0) });
    expect(codeOf(() => writeSafetensors(join(folder, "x"), [tensor("a"), tensor("a")]))).toBe("bad-tensor-name");
    expect(codeOf(() => writeSafetensors(join(folder, "x"), [tensor("__metadata__")]))).toBe("bad-tensor-name");
  });

  test("an open file keeps its numbers when the path is written anew, and refuses reads once closed", () => {
    const path = join(folder, "x");
    writeSafetensors(path, [{ name: "a", shape: [1], data: Float32Array.of(1) }]);
    const old = readSafetensors(path);
    writeSafetensors(path, [{ name: "a", shape: [1], data: Float32Array.of(2) }]);
    expect(old.tensor("a")).toEqual(Float32Array.of(1));
    old.close();
    old.close();
    expect(codeOf(() => old.tensor("a"))).toBe("checkpoint-closed");
  });
});

describe("conversion to float32", () => {
  test("every float16 has the value its parts say", () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    const numbers = one("F16", all, [65536]);
    const wrong = [...all].filter((half) => {
      const [exponent, fraction] = [(half >> 10) & 31, (half & 1023) / 1024];
      const size = exponent === 0 ? fraction * 2 ** -14 : (1 + fraction) * 2 ** (exponent - 15);
      const special = fraction === 0 ? Number.POSITIVE_INFINITY : Number.NaN;
      return !Object.is(numbers[half], (half & 0x8000 ? -1 : 1) * (exponent === 31 ? special : size));
    });
    expect(wrong).toEqual([]);
  });

  test("every bfloat16 is the upper half of its float32", () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i);
    expect(bits(one("BF16", all, [256, 256]))).toEqual([...all].map((half) => half * 65536));
  });

  test("float64 is rounded to the nearest, integers become numbers", () => {
    const doubles = Float64Array.of(0.1, 1e300, -0, 1e-46, Number.NaN);
    expect(one("F64", doubles, [5])).toEqual(Float32Array.of(0.1, Number.POSITIVE_INFINITY, -0, 0, Number.NaN));
    expect(one("I64", BigInt64Array.of(-3n, 16777216n), [2])).toEqual(Float32Array.of(-3, 16777216));
  });

  test("a tensor longer than one piece is read whole", () => {
    const halves = Uint16Array.from({ length: (1 << 21) + 5 }, (_, i) => i);
    const numbers = one("BF16", halves, [halves.length]);
    const words = new Uint32Array(numbers.buffer);
    expect(words.findIndex((word, i) => word !== halves[i] * 65536)).toBe(-1);
  });

  test("other kinds are listed, and refused when read", () => {
    expect(codeOf(() => one("I8", new Int8Array(4), [4]))).toBe("unsupported-dtype");
    expect(codeOf(() => one("F4_NEW", new Int8Array(4), [8]))).toBe("unsupported-dtype");
  });
});

describe("a broken file is refused with the reason", () => {
  const entry = (begin: number, end: number, count = 1) => ({
    dtype: "F32",
    shape: [count],
    data_offsets: [begin, end],
  });
  const four = new Uint8Array(4);
  const eight = new Uint8Array(8);

  test.each([
    ["overlap", { a: entry(0, 8, 2), b: entry(4, 8) }, eight],
    ["gap", { a: entry(4, 8) }, eight],
    ["end before begin", { a: entry(0, 4), b: { ...entry(4, 0), shape: [0] } }, four],
    ["size that does not fit the shape", { a: entry(0, 4, 2) }, four],
    ["bytes that belong to no tensor", { a: entry(0, 4) }, eight],
  ])("offsets: %s", (_, header, data) => {
    expect(codeOf(() => readSafetensors(rawFile(header, data)))).toBe("safetensors-bad-offsets");
  });

  test.each([
    ["no JSON", "{nonsense"],
    ["a list", "[]"],
    ["no offsets", { a: { dtype: "F32", shape: [1] } }],
    ["a negative offset", { a: entry(-4, 0) }],
    ["a fractional axis", { a: { dtype: "F32", shape: [0.5], data_offsets: [0, 2] } }],
    ["metadata that is no text", { __metadata__: { a: 1 } }],
  ])("header: %s", (_, header) => {
    expect(codeOf(() => readSafetensors(rawFile(header)))).toBe("safetensors-bad-header");
  });

  test("cut short anywhere", () => {
    const path = join(folder, "cut");
    writeSafetensors(path, [{ name: "a", shape: [4], data: new Float32Array(4) }]);
    const whole = readFileSync(path);
    for (const length of [0, 7, 8, 20, whole.length - 1]) {
      writeFileSync(path, whole.subarray(0, length));
      expect(codeOf(() => readSafetensors(path))).toBe("safetensors-truncated");
    }
    writeFileSync(path, whole);
    const source = open(readSafetensors(path));
    truncateSync(path, whole.length - 4);
    expect(codeOf(() => source.tensor("a"))).toBe("safetensors-truncated");
  });

  test("a header length that would fill the memory", () => {
    const path = join(folder, "large");
    writeFileSync(path, Uint8Array.of(0, 0, 0, 0, 0, 1, 0, 0, 0));
    expect(codeOf(() => readSafetensors(path))).toBe("safetensors-header-too-large");
  });

  test("a tensor or a file that is not there", () => {
    const source = open(readSafetensors(rawFile({ a: entry(0, 4) }, four)));
    expect(() => source.tensor("lm_head.weight")).toThrow("missing-tensor: got lm_head.weight");
    expect(codeOf(() => readSafetensors(join(folder, "none")))).toBe("checkpoint-not-found");
    expect(codeOf(() => openCheckpoint(folder))).toBe("checkpoint-not-found");
  });
});

describe("a checkpoint in shards", () => {
  const index = (weights: unknown) =>
    writeFileSync(join(folder, "model.safetensors.index.json"), JSON.stringify({ weight_map: weights }));

  test("looks like one file", () => {
    writeSafetensors(join(folder, "one"), [{ name: "a", shape: [1], data: Float32Array.of(1) }]);
    writeSafetensors(join(folder, "two"), [{ name: "b", shape: [2], data: Float32Array.of(2, 3) }]);
    index({ a: "one", b: "two" });
    const source = open(openCheckpoint(folder));
    expect([...source.tensors.keys()]).toEqual(["a", "b"]);
    expect(source.tensors.get("b")?.shape).toEqual([2]);
    expect(source.tensor("b")).toEqual(Float32Array.of(2, 3));
    expect(codeOf(() => source.tensor("c"))).toBe("missing-tensor");
  });

  test("must have what its index names, in its own folder", () => {
    writeSafetensors(join(folder, "one"), [{ name: "a", shape: [1], data: Float32Array.of(1) }]);
    index({ b: "one" });
    expect(codeOf(() => openCheckpoint(folder))).toBe("missing-tensor");
    index({ a: "two" });
    expect(codeOf(() => openCheckpoint(folder))).toBe("checkpoint-not-found");
    for (const weights of [{ a: 1 }, null]) {
      index(weights);
      expect(codeOf(() => openCheckpoint(folder))).toBe("safetensors-bad-header");
    }
  });
});
