import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parameterShapes, tiny, toHuggingFaceConfig } from "./model-config.ts";
import { readModelFolder, writeModelFolder } from "./model-folder.ts";
import { openCheckpoint, readSafetensors } from "./safetensors.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-hostile-model-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const config = tiny({ vocabularySize: 20, width: 16, headWidth: 8, layers: 1, contextLength: 32 });
const good = join(folder, "good");
let count = 0;

beforeAll(() => {
  const weights = parameterShapes(config).map(({ name, shape }) => ({
    name,
    shape,
    data: new Float32Array(shape.reduce((a, b) => a * b, 1)),
  }));
  writeModelFolder(good, { config, valueHead: false, sets: [{ name: "policy", version: 0, weights }] });
});

/** A copy of a good folder in which some files have other contents. */
function damaged(files: Record<string, string>): string {
  const path = join(folder, `damaged-${count++}`);
  cpSync(good, path, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text);
  return path;
}

const configWith = (fields: object) => ({
  "config.json": JSON.stringify({ ...toHuggingFaceConfig(config), ...fields }),
});

describe("config.json", () => {
  test.each([
    ["vocab_size", 1e12],
    ["vocab_size", -1],
    ["vocab_size", 1.5],
    ["hidden_size", 2 ** 40],
    ["num_hidden_layers", 1e9],
    ["num_attention_heads", 1e15],
    ["intermediate_size", 1e300],
    ["head_dim", 1e9],
    ["max_position_embeddings", 1e12],
    ["rms_norm_eps", -1],
    ["rope_theta", 0],
    ["eos_token_id", { a: 1 }],
    ["model_type", "x".repeat(1e6)],
    ["rope_scaling", { rope_type: "longrope", short_factor: [], long_factor: [] }],
  ])("%s = %s is refused, by the name of the file", (field, value) => {
    const path = damaged(configWith({ [field]: value }));
    const began = performance.now();
    expect(() => readModelFolder(path)).toThrow(/^(bad-model-config|unsupported-model): got .*config\.json/);
    expect(performance.now() - began).toBeLessThan(2_000);
  });

  test.each([
    ["numbers without end", '{"vocab_size": 1e999}', /config\.json/],
    ["depth", `${"[".repeat(1e6)}${"]".repeat(1e6)}`, /bad-model-folder.*config\.json.*nested deeper/],
    ["no object", "null", /config\.json/],
    ["no JSON", "{", /bad-model-folder.*config\.json/],
  ])("%s", (_, text, message) => {
    expect(() => readModelFolder(damaged({ "config.json": text }))).toThrow(message);
  });
});

describe("ludus.json", () => {
  test.each([
    ["depth", `${"[".repeat(1e6)}${"]".repeat(1e6)}`],
    ["a long name", JSON.stringify({ format: 1, valueHead: false, sets: [{ name: "x".repeat(1e6), version: 0 }] })],
    ["many sets", JSON.stringify({ format: 1, valueHead: false, sets: Array(1e5).fill({ name: "a", version: 0 }) })],
  ])("%s", (_, text) => {
    expect(() => readModelFolder(damaged({ "training/ludus.json": text }))).toThrow(/bad-model-folder.*ludus\.json/);
  });
});

describe("shards", () => {
  const outside = join(folder, "outside.safetensors");
  const index = (shard: unknown) => {
    const path = damaged({ "model.safetensors.index.json": JSON.stringify({ weight_map: { a: shard } }) });
    rmSync(join(path, "model.safetensors"));
    return path;
  };

  test.each(["..", ".", "", "../outside.safetensors", outside, "a/b.safetensors", "a\\b", "a\0b"])(
    "the name %j is refused",
    (name) => {
      cpSync(join(good, "model.safetensors"), outside);
      expect(() => openCheckpoint(index(name))).toThrow(/bad-model-folder.*a file of the same folder/s);
    },
  );

  test("links that lead out of the folder are refused, others are followed", () => {
    const path = index("one.safetensors");
    symlinkSync(outside, join(path, "one.safetensors"));
    expect(() => openCheckpoint(path)).toThrow(/bad-model-folder.*one\.safetensors, which leads to .*outside/);
    const inner = index("two.safetensors");
    cpSync(outside, join(inner, "real.safetensors"));
    symlinkSync("real.safetensors", join(inner, "two.safetensors"));
    expect(() => openCheckpoint(inner)).toThrow("missing-tensor");
    const single = damaged({});
    rmSync(join(single, "model.safetensors"));
    symlinkSync(outside, join(single, "model.safetensors"));
    expect(() => openCheckpoint(single)).toThrow(/bad-model-folder.*which leads to/);
  });

  test("more of them than a machine can open, and a folder in place of a file", () => {
    const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`t${i}`, `s${i}.safetensors`]));
    const many = damaged({ "model.safetensors.index.json": JSON.stringify({ weight_map: names }) });
    rmSync(join(many, "model.safetensors"));
    expect(() => openCheckpoint(many)).toThrow(/index\.json: 5000 shards/);
    const path = index("s.safetensors");
    mkdirSync(join(path, "s.safetensors"));
    expect(() => openCheckpoint(path)).toThrow(/bad-model-folder.*s\.safetensors: it is no file/);
  });
});

describe("safetensors", () => {
  function file(header: string, bytes: number, length = BigInt(Buffer.byteLength(header))): string {
    const path = join(folder, `${count++}.safetensors`);
    const prefix = Buffer.alloc(8);
    prefix.writeBigUInt64LE(length);
    writeFileSync(path, Buffer.concat([prefix, Buffer.from(header), Buffer.alloc(bytes)]));
    return path;
  }
  const entry = (shape: unknown, begin: number, end: number, dtype = "F32") => {
    return { dtype, shape, data_offsets: [begin, end] };
  };

  test.each([
    ["a header of 2^63 bytes", file("{}", 0, 2n ** 63n)],
    ["a header longer than the file", file("{}", 0, 1000n)],
    ["a deep header", file(`{"a":${"[".repeat(1e6)}${"]".repeat(1e6)}}`, 0)],
    ["tensors that overlap", file(JSON.stringify({ a: entry([2], 0, 8), b: entry([2], 4, 12) }), 12)],
    ["offsets beyond the file", file(JSON.stringify({ a: entry([1e9], 0, 4e9) }), 8)],
    ["a shape that does not fit its bytes", file(JSON.stringify({ a: entry([1e12, 1e12], 0, 8) }), 8)],
    ["a shape without end and nothing", file(JSON.stringify({ a: entry([9e15, 9e15, 9e15, 0], 0, 8) }), 8)],
    ["negative sizes", file(JSON.stringify({ a: entry([-1, -2], 0, 8) }), 8)],
    ["negative offsets", file(JSON.stringify({ a: entry([2], -8, 0) }), 8)],
    ["a huge entry", file(JSON.stringify({ a: { dtype: "x".repeat(1e6), shape: "no" } }), 0)],
  ])("%s is refused, by the name of the file", (_, path) => {
    const began = performance.now();
    const error = (() => {
      try {
        return readSafetensors(path);
      } catch (thrown) {
        return thrown;
      }
    })();
    expect(String(error)).toMatch(/^LudusError: safetensors-.*\.safetensors/s);
    expect(String(error).length).toBeLessThan(2_000);
    expect(performance.now() - began).toBeLessThan(5_000);
  });
});
