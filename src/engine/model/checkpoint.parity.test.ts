import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { defined } from "../../defined.ts";
import { type ModelConfig, parameterShapes, parseModelConfig, toHuggingFaceConfig } from "./model-config.ts";
import { ropeTables } from "./rope.ts";
import { openCheckpoint, readSafetensors, writeSafetensors } from "./safetensors.ts";

interface DescribedModel {
  shapes: [string, number[]][];
  tied: boolean;
  config: Record<string, unknown>;
}

interface Response {
  ludusShapes: Record<string, number[]>;
  models: DescribedModel[];
  shards: string[];
  logits: { missing: string[]; unexpected: string[]; difference: number; spread: number };
}

/** Numbers in [0, 1) that are the same on every run. */
function makeRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
const random = makeRandom(7);
const among = <Value>(values: readonly Value[]): Value => values[Math.floor(random() * values.length)]!;

function randomConfig(family: string, isTied: boolean): Record<string, unknown> {
  const heads = among([2, 4, 6]);
  const rope = { rope_type: "linear", factor: 2 };
  return {
    model_type: family,
    vocab_size: among([17, 40]),
    hidden_size: heads * among([8, 16]),
    intermediate_size: among([24, 40]),
    num_hidden_layers: among([1, 2, 3]),
    num_attention_heads: heads,
    num_key_value_heads: among([1, 2, heads]),
    max_position_embeddings: 64,
    tie_word_embeddings: isTied,
    ...defined({
      head_dim: family === "qwen3" || random() < 0.5 ? among([8, 16, 32]) : undefined,
      attention_bias: family === "qwen2" ? undefined : random() < 0.5,
      mlp_bias: family === "llama" ? random() < 0.5 : undefined,
    }),
    ...(random() < 0.5
      ? { rope_theta: 5000, rope_scaling: random() < 0.5 ? null : rope }
      : { rope_parameters: { ...rope, rope_theta: 5000 } }),
    ...(random() < 0.5 ? { bos_token_id: null, eos_token_id: among([3, [3, 4]]), pad_token_id: 0 } : {}),
  };
}

const families = ["llama", "qwen2", "qwen3"];
const foreign = families.flatMap((family) => [true, false, true, false].map((isTied) => randomConfig(family, isTied)));

const headShape = { hidden_size: 128, num_attention_heads: 2, num_key_value_heads: 2, head_dim: 64 };
const ropeModel = {
  vocab_size: 10,
  intermediate_size: 8,
  num_hidden_layers: 1,
  max_position_embeddings: 100,
  ...headShape,
};
const original = { original_max_position_embeddings: 64 };
const factors = (step: number) => Array.from({ length: 32 }, (_, i) => 1 + step * i);
const long = { rope_type: "longrope", short_factor: factors(0.05), long_factor: factors(0.3), ...original };
const ropeParameters: Record<string, unknown>[] = [
  { rope_type: "default" },
  { rope_type: "default", rope_theta: 1000000 },
  { rope_type: "linear", factor: 2.5 },
  { rope_type: "dynamic", factor: 3 },
  { rope_type: "yarn", factor: 4, ...original },
  { rope_type: "yarn", factor: 4, ...original, beta_fast: 16, beta_slow: 2, truncate: false },
  { rope_type: "yarn", factor: 40, ...original, mscale: 0.8, mscale_all_dim: 1.2 },
  { rope_type: "yarn", factor: 4, ...original, attention_factor: 0.9 },
  { rope_type: "yarn", factor: 1, ...original },
  { rope_type: "llama3", factor: 8, low_freq_factor: 1, high_freq_factor: 4, ...original },
  { rope_type: "llama3", factor: 32, low_freq_factor: 1, high_freq_factor: 4, rope_theta: 500000, ...original },
  { ...long, factor: 4 },
  { ...long },
  { ...long, factor: 4, attention_factor: 1.19 },
];
// Below the original context, between, at and past the context length: dynamic and longrope depend on it. No longer than
// this, since a processor whose power function differs in the last bit shifts angles by 6e-8 a position.
const lengths = [50, 80, 100, 150];
// Each as written by others, and as we write it.
const ropeCases = ropeParameters.flatMap((parameters, index) => {
  const rope = { rope_parameters: { rope_theta: 10000, ...parameters } };
  const theirs = { ...ropeModel, ...rope, model_type: families[index % 3] };
  const ours = toHuggingFaceConfig(parseModelConfig(theirs));
  return [theirs, ours].flatMap((config) => lengths.map((length) => ({ index, config, length })));
});

const ludusTensors = [
  { name: "z", shape: [2, 2], data: Float32Array.of(1, -0, Number.NEGATIVE_INFINITY, 1e-45) },
  { name: "a.weight", shape: [3], data: Float32Array.of(0.1, 3.4e38, -1e-38) },
  { name: "layer.10", shape: [], data: Float32Array.of(5) },
  { name: "layer.9", shape: [0, 3], data: new Float32Array(0) },
];

describe.runIf(process.env.LUDUS_PYTHON)("checkpoints and configs against transformers", () => {
  let folder: string;
  let response: Response;
  const bits = (path: string) => new Uint32Array(new Uint8Array(readFileSync(join(folder, path))).buffer);
  const bitsOf = (numbers: Float32Array) => new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length);
  const numbersIn = (path: string) => new Float32Array(bits(path).buffer);

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "ludus-checkpoint-"));
    writeSafetensors(join(folder, "ludus.safetensors"), ludusTensors);
    const checkpoint = randomConfig("qwen3", false);
    writeCheckpoint(join(folder, "checkpoint"), parseModelConfig(checkpoint));
    const ours = foreign.map((fields) => toHuggingFaceConfig(parseModelConfig(fields)));
    const sharded = randomConfig("qwen2", false);
    const request = { models: [...foreign, ...ours], ropes: ropeCases, sharded, checkpoint };
    writeFileSync(join(folder, "request.json"), JSON.stringify(request));
    const script = join(import.meta.dirname, "../../../test/parity/checkpoint.py");
    const run = spawnSync(process.env.LUDUS_PYTHON!, [script, folder], { encoding: "utf8" });
    if (run.status !== 0) throw new Error(`checkpoint.py ended with ${run.status}:\n${run.stderr}`);
    response = JSON.parse(readFileSync(join(folder, "response.json"), "utf8"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function writeCheckpoint(directory: string, config: ModelConfig): void {
    mkdirSync(directory);
    writeFileSync(join(directory, "config.json"), JSON.stringify(toHuggingFaceConfig(config)));
    const tensors = parameterShapes(config, { valueHead: true }).map(({ name, shape }) => {
      const count = shape.reduce((size, axis) => size * axis, 1);
      return { name, shape, data: Float32Array.from({ length: count }, () => random() - 0.5) };
    });
    writeSafetensors(join(directory, "model.safetensors"), tensors);
  }

  test("Python's files read as the same bits", () => {
    const file = readSafetensors(join(folder, "python.safetensors"));
    expect(file.metadata).toEqual({ format: "pt", made: "by Python" });
    expect(file.tensors.get("bfloat16")).toMatchObject({ shape: [256, 256], dtype: "BF16" });
    expect(file.tensors.size).toBe(6);
    for (const name of file.tensors.keys()) {
      const [mine, theirs] = [file.tensor(name), numbersIn(`python.${name}.bin`)];
      expect(mine).toHaveLength(theirs.length);
      const [mineBits, theirBits] = [bitsOf(mine), bitsOf(theirs)];
      // A processor may set the quiet bit of a NaN that it converts, so NaNs count as equal.
      const differs = (i: number) =>
        mineBits[i] !== theirBits[i] && !(Number.isNaN(mine[i]) && Number.isNaN(theirs[i]));
      expect([...mine.keys()].filter(differs), name).toEqual([]);
    }
    file.close();
  });

  test("a sharded bfloat16 checkpoint reads as the same bits", () => {
    const checkpoint = openCheckpoint(join(folder, "shards"));
    expect([...checkpoint.tensors.keys()].sort()).toEqual([...response.shards].sort());
    for (const [index, name] of response.shards.entries()) {
      expect(bitsOf(checkpoint.tensor(name)), name).toEqual(bits(`shard.${index}.bin`));
    }
    expect(() => readSafetensors(join(folder, "shards", "model.safetensors"))).toThrow("checkpoint-not-found");
    checkpoint.close();
  });

  test("Python reads what we write, and would write the same bytes", () => {
    expect(response.ludusShapes).toEqual(Object.fromEntries(ludusTensors.map(({ name, shape }) => [name, shape])));
    for (const { name, data } of ludusTensors) expect(bits(`ludus.${name}.bin`), name).toEqual(bitsOf(data));
    const again = readFileSync(join(folder, "ludus-again.safetensors"));
    expect(readFileSync(join(folder, "ludus.safetensors"))).toEqual(again);
  });

  test.each(foreign.map((fields, index) => [index, fields] as const))("config %i: %o", (index, fields) => {
    const config = parseModelConfig(fields);
    const [theirs, ours] = [response.models[index], response.models[foreign.length + index]];
    const expected = theirs.shapes.filter(([name]) => !(theirs.tied && name === "lm_head.weight"));
    expect(parameterShapes(config).map(({ name, shape }) => [name, shape])).toEqual(expected);
    expect(theirs.tied).toBe(config.tiedEmbeddings);
    expect(ours.shapes).toEqual(theirs.shapes);
    expect(ours.tied).toBe(theirs.tied);
    // What transformers makes of either config is, for us, the same model.
    expect(parseModelConfig(theirs.config)).toEqual(config);
    expect(parseModelConfig(ours.config)).toEqual(config);
  });

  test("a folder we write is the same model in Python", () => {
    // The value head is ours alone; transformers names it and goes on.
    expect(response.logits).toMatchObject({ missing: [], unexpected: ["value_head.weight"], difference: 0 });
    expect(response.logits.spread).toBeGreaterThan(0.1);
  });

  test.each(ropeParameters.map((parameters, index) => [index, parameters] as const))("rope %i: %o", (index) => {
    for (const [file, { config, length }] of ropeCases.entries()) {
      if (ropeCases[file].index !== index) continue;
      const tables = ropeTables(parseModelConfig(config), length);
      for (const part of ["cos", "sin"] as const) {
        const theirs = numbersIn(`rope.${file}.${part}.bin`);
        expect(tables[part]).toHaveLength(theirs.length);
        const worst = tables[part].reduce((most, number, i) => Math.max(most, Math.abs(number - theirs[i])), 0);
        expect(worst, `${part} of length ${length}`).toBeLessThan(1e-5);
      }
    }
  });
});
