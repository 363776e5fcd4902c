import { describe, expect, test } from "vitest";
import { add, concat, Graph, matmul, mul, neg, rmsNorm, sumKeep, toOnnx, type Value } from "./index.ts";
import { worstDifference } from "./testing/check-operator.ts";
import { map, type Numbers } from "./testing/numbers.ts";
import { nodeOperators, openModel, runModel } from "./testing/run-graph.ts";

const numbers = (shape: readonly number[], ...data: number[]): Numbers => ({ shape, data: Float64Array.from(data) });
const range = (...shape: number[]): Numbers =>
  numbers(shape, ...Array.from({ length: shape.reduce((a, b) => a * b, 1) }, (_, i) => Math.sin(i + 1)));

describe("a written model", () => {
  test("takes any size for a symbol", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", "S"]);
    const model = toOnnx({ total: sumKeep(mul(x, x), [1]) });
    const two = await runModel(model, { x: numbers([2, 1], 3, 4) });
    expect(two.total).toEqual(numbers([2, 1], 9, 16));
    const three = await runModel(model, { x: numbers([1, 3], 1, 2, 3) });
    expect(three.total).toEqual(numbers([1, 1], 14));
  });

  test("takes symbols that are zero", async () => {
    const graph = new Graph();
    const [past, recent] = [graph.input("past", "float32", ["T", 2]), graph.input("recent", "float32", ["S", 2])];
    const model = toOnnx({ all: concat([past, recent], 0) });
    const { all } = await runModel(model, { past: numbers([0, 2]), recent: numbers([1, 2], 5, 6) });
    expect(all).toEqual(numbers([1, 2], 5, 6));
  });

  test("declares its inputs and outputs with their types", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", 3]);
    const unused = graph.input("unused", "float32", [1]);
    const session = await openModel(toOnnx({ y: concat([x, x, neg(x)], 0) }));
    expect(unused.shape).toEqual([1]);
    expect(session.inputMetadata).toMatchObject([{ name: "x", type: "float32", shape: ["B", 3] }]);
    expect(session.outputMetadata).toMatchObject([{ name: "y", type: "float32", shape: ["B+B+B", 3] }]);
    await session.release();
  });

  test("may give an input back, under its name and another", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    const { same, x: own, twice } = await runModel(toOnnx({ same: x, x, twice: add(x, x) }), { x: numbers([2], 1, 2) });
    expect([same, own, twice]).toEqual([numbers([2], 1, 2), numbers([2], 1, 2), numbers([2], 2, 4)]);
  });

  test("may give one value under two names", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    const value = add(x, x);
    const outputs = await runModel(toOnnx({ a: value, b: value, c: neg(value) }), { x: numbers([1], 3) });
    expect(outputs).toEqual({ a: numbers([1], 6), b: numbers([1], 6), c: numbers([1], -6) });
  });

  test("has the inputs that are weights within it", async () => {
    const graph = new Graph();
    const [x, w] = [graph.input("x", "float32", ["B", 2]), graph.input("w", "float32", [2, 2])];
    const stored = new Uint8Array(Float32Array.of(1, 2, 3, 4).buffer);
    const session = await openModel(toOnnx({ y: matmul(x, w) }, new Map([["w", stored]])));
    expect(session.inputNames).toEqual(["x"]);
    await session.release();
    const { y } = await runModel(toOnnx({ y: matmul(x, w) }, new Map([["w", stored]])), { x: numbers([1, 2], 1, 10) });
    expect(y).toEqual(numbers([1, 2], 31, 42));
  });

  test("may give a constant, and use it", async () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    const half = graph.constant(0.5);
    const outputs = await runModel(toOnnx({ half, y: mul(x, half) }), { x: numbers([2], 3, 5) });
    expect(outputs).toEqual({ half: numbers([], 0.5), y: numbers([2], 1.5, 2.5) });
  });

  test("writes constants to the bit, however small or large", async () => {
    const graph = new Graph();
    const values = [1e-45, -3.4028234663852886e38, 1 / 3, -0.1, 16777217, Number.POSITIVE_INFINITY];
    const outputs = Object.fromEntries(values.map((value, i) => [`c${i}`, graph.constant(value)]));
    const results = await runModel(toOnnx(outputs), {});
    expect(values.map((_, i) => results[`c${i}`].data[0])).toEqual(values.map(Math.fround));
  });

  test("lets users take the names that it would", async () => {
    const graph = new Graph();
    const names = ["t0", "v2_0", "v3_0", "f_2", "f_0.5", "i_1", "i_-1", "is_0"];
    const inputs = names.map((name) => graph.input(name, "float32", ["B", 2]));
    const total = inputs.reduce((sum, input) => add(sum, mul(input, graph.constant(0.5))));
    const feeds = Object.fromEntries(names.map((name, i) => [name, numbers([1, 2], i, 1)]));
    const { v4_0: sum } = await runModel(toOnnx({ v4_0: sumKeep(total, [1]) }), feeds);
    expect(sum).toEqual(numbers([1, 1], 14 + 1 + 7 * 0.5));
  });

  test("refuses an output with the name of an input that it is not", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    expect(() => toOnnx({ x: neg(x) })).toThrow('toOnnx([B]): the output "x" has the name of an input');
    // an input that the outputs do not need is not in the model
    const y = graph.input("y", "float32", ["B"]);
    expect(nodeOperators(toOnnx({ y: neg(x) }))).toEqual(["Neg"]);
    expect(y.shape).toEqual(["B"]);
  });

  test("is the same bytes every time", () => {
    const build = () => {
      const graph = new Graph();
      const x = graph.input("x", "float32", ["B", 3]);
      return toOnnx({ y: sumKeep(mul(x, graph.constant(2)), [0]) });
    };
    expect(build()).toEqual(build());
  });

  test("holds only what its outputs need", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    mul(x, x);
    expect(nodeOperators(toOnnx({ y: neg(x) }))).toEqual(["Neg"]);
  });
});

/** Fused and unfused must give the same numbers; `also` is what keeps the second from being fused. */
async function compareFusion(outputs: Record<string, Value>, also: Value, feeds: Record<string, Numbers>) {
  const [fused, plain] = [toOnnx(outputs), toOnnx({ ...outputs, also })];
  const [actual, expected] = [await runModel(fused, feeds), await runModel(plain, feeds)];
  for (const name of Object.keys(outputs)) {
    expect(worstDifference(actual[name], expected[name])).toBeLessThan(1e-5);
  }
  return { fused: nodeOperators(fused), plain: nodeOperators(plain) };
}

describe("a normalised sum", () => {
  const build = (shape: readonly (number | string)[]) => {
    const graph = new Graph();
    const [a, b] = [graph.input("a", "float32", shape), graph.input("b", "float32", shape)];
    const total = add(a, b);
    const normal = rmsNorm(total, graph.input("weight", "float32", [4]), 1e-5);
    return { graph, total, normal, inverse: normal.node.outputs[1] };
  };

  test("is written as one where nothing needs the scale", async () => {
    const { total, normal, inverse } = build(["B", "S", 4]);
    const feeds = { a: range(2, 3, 4), b: range(2, 3, 4), weight: range(4) };
    const { fused, plain } = await compareFusion({ normal, next: add(normal, total) }, inverse, feeds);
    expect(fused).toEqual(["SkipSimplifiedLayerNormalization", "Add"]);
    expect(plain).toEqual(["Add", "SimplifiedLayerNormalization", "Add"]);
  });

  test("is written as one of matrices, and the sum may be an output", async () => {
    const { total, normal, inverse } = build(["B", 4]);
    const feeds = { a: range(3, 4), b: range(3, 4), weight: range(4) };
    const { fused } = await compareFusion({ normal, total }, inverse, feeds);
    expect(fused).toEqual(["SkipSimplifiedLayerNormalization"]);
  });

  test("is two where ONNX Runtime cannot: other ranks, a broadcast sum", async () => {
    for (const shape of [[4], ["B", 2, 2, 4]]) {
      expect(nodeOperators(toOnnx({ normal: build(shape).normal }))).toEqual(["Add", "SimplifiedLayerNormalization"]);
    }
    const graph = new Graph();
    const sum = add(graph.input("a", "float32", ["B", 4]), graph.input("b", "float32", [4]));
    const normal = rmsNorm(sum, graph.input("weight", "float32", [4]), 1e-5);
    expect(nodeOperators(toOnnx({ normal }))).toEqual(["Add", "SimplifiedLayerNormalization"]);
  });

  test("is two where the sum is the weight, or the weight is computed", async () => {
    const graph = new Graph();
    const weight = add(graph.input("a", "float32", [4]), graph.input("b", "float32", [4]));
    const sum = add(graph.input("c", "float32", ["B", 4]), graph.input("d", "float32", ["B", 4]));
    const later = mul(weight, weight);
    const outputs = {
      ofWeight: rmsNorm(graph.input("x", "float32", ["B", 4]), weight, 1),
      late: rmsNorm(sum, later, 1),
    };
    const model = toOnnx(outputs);
    expect(nodeOperators(model)).not.toContain("SkipSimplifiedLayerNormalization");
    const [row, matrix] = [numbers([4], 1, 1, 1, 1), numbers([1, 4], 1, -1, 1, -1)];
    const results = await runModel(model, { a: row, b: row, c: matrix, d: matrix, x: matrix });
    expect(
      worstDifference(
        results.ofWeight,
        map(matrix, (value) => 2 * value * 0.5 ** 0.5),
      ),
    ).toBeLessThan(1e-5);
    expect(
      worstDifference(
        results.late,
        map(matrix, (value) => 8 * value * 0.2 ** 0.5),
      ),
    ).toBeLessThan(1e-5);
  });
});

describe("a product with a bias", () => {
  const build = (shape: readonly (number | string)[], transposeB: boolean, scale: number) => {
    const graph = new Graph();
    const [x, weight] = [graph.input("x", "float32", shape), graph.input("w", "float32", transposeB ? [5, 4] : [4, 5])];
    const product = matmul(x, weight, { transposeB, scale });
    return { product, sum: add(product, graph.input("bias", "float32", [5])), graph };
  };

  test.each([true, false])("of matrices is one Gemm; transposed %s", async (transposeB) => {
    const { product, sum } = build(["B", 4], transposeB, 0.5);
    const feeds = { x: range(3, 4), w: transposeB ? range(5, 4) : range(4, 5), bias: range(5) };
    const { fused, plain } = await compareFusion({ sum }, product, feeds);
    expect(fused).toEqual(["Gemm"]);
    expect(plain).toEqual(["FusedMatMul", "Add"]);
  });

  test("is written apart where it is batched, or the bias is not a row", () => {
    expect(nodeOperators(toOnnx({ sum: build(["B", "S", 4], true, 1).sum }))).toEqual(["FusedMatMul", "Add"]);
    const { product, graph } = build(["B", 4], false, 1);
    const column = graph.input("column", "float32", ["B", 1]);
    expect(nodeOperators(toOnnx({ sum: add(product, column) }))).toEqual(["MatMul", "Add"]);
    expect(nodeOperators(toOnnx({ sum: add(product, product) }))).toEqual(["MatMul", "Add"]);
  });
});
