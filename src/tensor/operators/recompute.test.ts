import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { differentiate, exp, Graph, matmul, mul, recompute, takeRows, tanh, toOnnx, type Value } from "../index.ts";
import { worstDifference } from "../testing/check-operator.ts";
import { fill } from "../testing/numbers.ts";
import { createRandom } from "../testing/random.ts";
import { nodeOperators, runModel } from "../testing/run-graph.ts";

type Wrap = (inputs: readonly Value[], segment: (inputs: readonly Value[]) => Value) => Value;
const keep: Wrap = (inputs, segment) => segment(inputs);

/** Three segments, each with a weight from outside and all with one in common. */
function chain(wrap: Wrap): Uint8Array {
  const graph = new Graph();
  const x = graph.input("x", "float32", ["B", 3]);
  const common = graph.input("common", "float32", [3]);
  const weights = [0, 1, 2].map((i) => graph.input(`w${i}`, "float32", [3, 3]));
  let h = x;
  for (const weight of weights) h = wrap([h], ([input]) => tanh(matmul(mul(input, exp(common)), weight)));
  const wanted = [x, common, ...weights];
  const gradients = differentiate([{ value: h, gradient: graph.input("d", "float32", ["B", 3]) }], wanted);
  return toOnnx({ h, ...Object.fromEntries(gradients.map((gradient, i) => [`g${i}`, gradient])) });
}

describe("recompute", () => {
  test("gives the same gradients", async () => {
    const random = createRandom(5);
    const draw = (...shape: number[]) => fill(shape, () => random.normal());
    const weights = Object.fromEntries([0, 1, 2].map((i) => [`w${i}`, draw(3, 3)]));
    const feeds = { x: draw(4, 3), d: draw(4, 3), common: draw(3), ...weights };
    const [kept, recomputed] = [await runModel(chain(keep), feeds), await runModel(chain(recompute), feeds)];
    for (const [name, numbers] of Object.entries(kept)) {
      expect(worstDifference(recomputed[name], numbers), name).toBeLessThan(1e-5);
    }
  });

  test("computes a segment twice", () => {
    const count = (model: Uint8Array, operator: string) => nodeOperators(model).filter((op) => op === operator).length;
    expect(count(chain(keep), "Tanh")).toBe(3);
    expect(count(chain(recompute), "Tanh")).toBe(6);
  });

  test("computes nothing twice without a backward pass", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", 3]);
    expect(nodeOperators(toOnnx({ y: recompute([x], ([input]) => tanh(exp(input))) }))).toEqual([
      "Exp",
      "Tanh",
      "Identity",
    ]);
  });

  test("takes whole numbers as inputs", async () => {
    const graph = new Graph();
    const [table, index] = [graph.input("table", "float32", [3, 1]), graph.input("index", "int64", ["B"])];
    const rows = recompute([table, index], ([a, b]) => exp(takeRows(a, b)));
    const [gradient] = differentiate([{ value: rows, gradient: graph.input("d", "float32", ["B", 1]) }], [table]);
    const feeds = {
      table: fill([3, 1], () => 0),
      index: { ...fill([2], () => 1), dtype: "int64" as const },
      d: fill([2, 1], () => 1),
    };
    const results = await runModel(toOnnx({ gradient: gradient }), feeds);
    expect([...results.gradient.data]).toEqual([0, 2, 0]);
  });

  test("needs less memory than keeping everything", () => {
    const script = join(import.meta.dirname, "../testing/peak-memory.ts");
    const [kept, recomputed] = ["keep", "recompute"].map((mode) => {
      const { stdout, stderr } = spawnSync(process.execPath, [script, mode], { encoding: "utf8" });
      if (stdout === "") throw new Error(stderr);
      return JSON.parse(stdout) as { megabytes: number; gradient: number };
    });
    expect(recomputed.gradient).toBeCloseTo(kept.gradient, 4);
    // 24 layers keep three arrays of 4 MB each; recomputed, eight segments keep one each, and the three layers of one segment
    expect(kept.megabytes).toBeGreaterThan(2 * recomputed.megabytes);
  });
});
