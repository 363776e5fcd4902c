import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InferenceSession, Tensor } from "onnxruntime-node";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ModelConfig, tiny } from "../model/model-config.ts";
import { embedded } from "./embedded.ts";
import { exportOnnx } from "./export-onnx.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-onnx-"));
afterAll(() => rmSync(folder, { recursive: true }));

const small = {
  vocabularySize: 50,
  contextLength: 32,
  width: 32,
  layers: 2,
  heads: 4,
  headWidth: 8,
  feedForwardWidth: 48,
};
const models: Readonly<Record<string, ModelConfig>> = {
  tied: tiny({ ...small, keyValueHeads: 2, tiedEmbeddings: true }),
  apart: tiny({ ...small, family: "qwen3", keyValueHeads: 4, tiedEmbeddings: false }),
};
const tokens = [3, 14, 15, 9, 26, 5, 35, 8, 9, 7];
/** What the engine says each token's log-probability is, by model. */
const expected = new Map<string, Float32Array>();

beforeAll(async () => {
  for (const [name, model] of Object.entries(models)) {
    const engine = await embedded({ model, seed: 3, threads: 1 });
    expected.set(name, (await engine.forward({ rows: [{ tokens }] })).logprobs_B_T[0]);
    await engine.save(join(folder, name));
    await engine.close();
  }
});

type Cache = Readonly<Record<string, Tensor>>;

const integers = (rows: readonly (readonly number[])[]) =>
  new Tensor("int64", BigInt64Array.from(rows.flat(), BigInt), [rows.length, rows[0].length]);

function emptyCache({ layers, keyValueHeads, headWidth }: ModelConfig, rows: number): Cache {
  const empty = new Tensor("float32", new Float32Array(0), [rows, keyValueHeads, 0, headWidth]);
  const names = Array.from({ length: layers }, (_, i) => [`past_key_values.${i}.key`, `past_key_values.${i}.value`]);
  return Object.fromEntries(names.flat().map((name) => [name, empty]));
}

/** Log-probabilities of tokens, the first of which follows position `from` of a row. */
function logprobs(logits: Tensor, row: number, from: number, followers: readonly number[]): number[] {
  const [, S, V] = logits.dims as [number, number, number];
  return followers.map((id, i) => {
    const start = (row * S + from + i) * V;
    const values = Float64Array.from((logits.data as Float32Array).subarray(start, start + V));
    return values[id] - Math.log(values.reduce((sum, value) => sum + Math.exp(value), 0));
  });
}

function expectClose(got: readonly number[], wanted: Iterable<number>): void {
  const values = [...wanted];
  expect(got).toHaveLength(values.length);
  for (const [i, value] of values.entries()) expect(got[i]).toBeCloseTo(value, 4);
}

const open = (name: string) => InferenceSession.create(join(folder, `${name}.onnx`, "model.onnx"));

test.each(Object.keys(models))("%s: the graph says what the engine says", async (name) => {
  exportOnnx(join(folder, name), join(folder, `${name}.onnx`));
  const session = await open(name);
  expect(session.inputNames.filter((input) => !input.startsWith("past"))).toEqual(
    expect.arrayContaining(["input_ids", "attention_mask", "position_ids"]),
  );
  const feeds = {
    input_ids: integers([tokens]),
    attention_mask: integers([tokens.map(() => 1)]),
    position_ids: integers([tokens.map((_, t) => t)]),
  };
  const { logits } = await session.run({ ...feeds, ...emptyCache(models[name], 1) });
  expectClose(logprobs(logits as Tensor, 0, 0, tokens.slice(1)), expected.get(name)!.subarray(1));
  await session.release();
});

test("with what it gave before as its cache, it goes on from there", async () => {
  const session = await open("tied");
  let cache = emptyCache(models.tied, 1);
  const said: number[] = [];
  for (const [start, end] of [
    [0, 4],
    [4, 5],
    [5, tokens.length],
  ] as const) {
    const part = tokens.slice(start, end);
    const { logits, ...present } = await session.run({
      input_ids: integers([part]),
      attention_mask: integers([tokens.slice(0, end).map(() => 1)]),
      position_ids: integers([part.map((_, t) => start + t)]),
      ...cache,
    });
    said.push(...logprobs(logits as Tensor, 0, 0, tokens.slice(start + 1, end + 1)));
    cache = Object.fromEntries(
      Object.entries(present).map(([name, tensor]) => [name.replace("present", "past_key_values"), tensor as Tensor]),
    );
  }
  expectClose(said, expected.get("tied")!.subarray(1));
  await session.release();
});

test("rows that are padded on the left say what they say alone", async () => {
  const session = await open("tied");
  const short = tokens.slice(0, 6);
  const padding = tokens.length - short.length;
  const { logits } = await session.run({
    input_ids: integers([tokens, [...new Array<number>(padding).fill(0), ...short]]),
    attention_mask: integers([tokens.map(() => 1), tokens.map((_, t) => (t < padding ? 0 : 1))]),
    position_ids: integers([tokens.map((_, t) => t), tokens.map((_, t) => Math.max(0, t - padding))]),
    ...emptyCache(models.tied, 2),
  });
  expectClose(logprobs(logits as Tensor, 1, padding, short.slice(1)), expected.get("tied")!.subarray(1, short.length));
  await session.release();
});

test("weights that are too many for one file lie beside it", async () => {
  exportOnnx(join(folder, "tied"), join(folder, "beside.onnx"), { maxInsideBytes: 1000 });
  expect(existsSync(join(folder, "beside.onnx", "model.onnx_data"))).toBe(true);
  const session = await open("beside");
  const { logits } = await session.run({
    input_ids: integers([tokens]),
    attention_mask: integers([tokens.map(() => 1)]),
    position_ids: integers([tokens.map((_, t) => t)]),
    ...emptyCache(models.tied, 1),
  });
  expectClose(logprobs(logits as Tensor, 0, 0, tokens.slice(1)), expected.get("tied")!.subarray(1));
  await session.release();
});
