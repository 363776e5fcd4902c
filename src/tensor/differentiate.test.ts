import { describe, expect, test } from "vitest";
import { accumulateGradients } from "./differentiate.ts";
import { reachable } from "./graph.ts";
import {
  add,
  differentiate,
  exp,
  Graph,
  log,
  logSoftmax,
  matmul,
  mul,
  neg,
  pick,
  reshape,
  rmsNorm,
  rotary,
  silu,
  softmax,
  sub,
  sumKeep,
  takeRows,
  tanh,
  toOnnx,
  top,
  transpose,
  type Value,
} from "./index.ts";
import { worstDifference } from "./testing/check-operator.ts";
import type { Numbers } from "./testing/numbers.ts";
import { createRandom } from "./testing/random.ts";
import { nodeOperators, runModel } from "./testing/run-graph.ts";

const numbers = (shape: readonly number[], ...data: number[]): Numbers => ({ shape, data: Float64Array.from(data) });

/** Gradients of the sum of `y` for one float each. */
async function slopes(build: (x: Value, y: Value) => { loss: Value; wanted: Value[] }): Promise<number[]> {
  const graph = new Graph();
  const { loss, wanted } = build(graph.input("x", "float32", [1]), graph.input("y", "float32", [1]));
  const gradients = differentiate([{ value: loss, gradient: graph.input("d", "float32", [1]) }], wanted);
  const outputs = Object.fromEntries(gradients.map((gradient, i) => [`g${i}`, gradient]));
  const used = new Set(reachable(gradients).map((node) => node.attributes.name));
  const feeds = { x: numbers([1], 2), y: numbers([1], 5), d: numbers([1], 1) };
  const results = await runModel(
    toOnnx(outputs),
    Object.fromEntries(Object.entries(feeds).filter(([name]) => used.has(name))),
  );
  return gradients.map((_, i) => results[`g${i}`].data[0]);
}

describe("differentiate", () => {
  test("adds up over every path", async () => {
    // x·y + x·x + x
    expect(await slopes((x, y) => ({ loss: add(add(mul(x, y), mul(x, x)), x), wanted: [x, y] }))).toEqual([10, 2]);
  });

  test("gives a seed back as its own gradient", async () => {
    expect(await slopes((x) => ({ loss: x, wanted: [x] }))).toEqual([1]);
  });

  test("gives the whole gradient of a value and of what it depends on", async () => {
    // h = x², loss = h·y + x: dloss/dh = y and dloss/dx = 2xy + 1, not 1
    const all = await slopes((x, y) => {
      const h = mul(x, x);
      return { loss: add(mul(h, y), x), wanted: [x, h] };
    });
    expect(all).toEqual([21, 5]);
  });

  test("takes several seeds", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B"]);
    const [a, b] = [neg(x), mul(x, x)];
    const [da, db] = ["da", "db"].map((name) => graph.input(name, "float32", ["B"]));
    const seeds = [
      { value: a, gradient: da },
      { value: b, gradient: db },
    ];
    const [both] = differentiate(seeds, [x]);
    const [first] = differentiate(seeds.slice(0, 1), [x]);
    expect(first).toBe(neg(da));
    expect(both.node.inputs).toContain(first);
  });

  test("refuses a value that no seed depends on", () => {
    const graph = new Graph();
    const [x, y] = [graph.input("x", "float32", ["B", 2]), graph.input("y", "float32", [3])];
    const seeds = [{ value: exp(x), gradient: x }];
    expect(() => differentiate(seeds, [y])).toThrow("differentiate([3]): no seed depends on this value");
    expect(accumulateGradients(seeds, new Set([y])).has(y)).toBe(false);
  });

  test("refuses a seed of another shape than its value", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", 2]);
    const seeds = [{ value: exp(x), gradient: graph.constant(1) }];
    expect(() => differentiate(seeds, [x])).toThrow(
      "differentiate([B, 2], []): a gradient of [B, 2] must have its shape",
    );
  });

  test("refuses to go through an operator without a derivative", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", 5]);
    const { values } = top(exp(x), graph.input("count", "float32", [2]));
    const seeds = [{ value: values, gradient: values }];
    expect(() => differentiate(seeds, [x])).toThrow("top([B, 5], [2]): has no derivative");
  });

  test("makes nothing for what is not asked for", () => {
    const graph = new Graph();
    const [x, w] = [graph.input("x", "float32", ["B", 3]), graph.input("w", "float32", [3, 4])];
    const loss = matmul(exp(x), w);
    const [dw] = differentiate([{ value: loss, gradient: graph.input("d", "float32", ["B", 4]) }], [w]);
    expect(nodeOperators(toOnnx({ dw: dw }))).toEqual(["Exp", "FusedMatMul"]);
  });
});

describe("cheaper ways to the same gradient", () => {
  test("the row sums of softmax come from the attended values where the graph has them", async () => {
    const random = createRandom(3);
    const draw = (...shape: number[]): Numbers => ({
      shape,
      data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => Math.fround(random.normal())),
    });
    const graph = new Graph();
    const scores = graph.input("scores", "float32", ["B", "T", "T"]);
    const values = graph.input("values", "float32", ["B", "T", 2]);
    const seed = graph.input("seed", "float32", ["B", "T", 2]);
    const weights = softmax(scores);
    const [cheap] = differentiate([{ value: matmul(weights, values), gradient: seed }], [scores]);
    const g = matmul(seed, values, { transposeB: true });
    const plain = mul(weights, sub(g, sumKeep(mul(g, weights), [-1])));
    expect(cheap).not.toBe(plain);
    const feeds = { scores: draw(2, 5, 5), values: draw(2, 5, 2), seed: draw(2, 5, 2) };
    const results = await runModel(toOnnx({ cheap: cheap, plain }), feeds);
    expect(worstDifference(results.cheap, results.plain)).toBeLessThan(1e-6);
  });

  test("the gradient of picked log-probabilities is placed, not added", () => {
    const graph = new Graph();
    const logits = graph.input("logits", "float32", ["P", 7]);
    const chosen = pick(logSoftmax(logits), graph.input("chosen", "int64", ["P", 1]));
    const [gradient] = differentiate([{ value: chosen, gradient: graph.input("d", "float32", ["P", 1]) }], [logits]);
    // no pass over a matrix of zeros: one product, into which the derivatives are placed
    const operators = nodeOperators(toOnnx({ gradient: gradient }));
    expect(operators.toSorted()).toEqual(["Exp", "LogSoftmax", "Mul", "Neg", "ScatterElements"]);
  });
});

describe("a decoder layer", () => {
  test.each([1, 2, 3])("has the slope of its loss in every direction; seed %i", async (seed) => {
    const random = createRandom(seed);
    const draw = (scale: number, ...shape: number[]): Numbers => ({
      shape,
      data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => Math.fround(scale * random.normal())),
    });
    const whole = (below: number, ...shape: number[]) => ({
      ...draw(0, ...shape),
      data: Float64Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => random.integer(0, below - 1)),
      dtype: "int64" as const,
    });
    const parameters: Record<string, Numbers> = {
      table: draw(1, 6, 8),
      q: draw(0.5, 8, 8),
      k: draw(0.5, 4, 8),
      v: draw(0.5, 4, 8),
      gate: draw(0.5, 8, 8),
      norm: draw(1, 8),
      bias: draw(1, 8),
    };
    const others = {
      tokens: whole(6, 2, 5),
      positions: whole(5, 2, 5),
      chosen: whole(6, 10, 1),
      cos: draw(1, 5, 2),
      sin: draw(1, 5, 2),
      mask: draw(1, 5, 5),
    };
    const { graph, loss, values } = decoderLayer(parameters);
    const outputs: Record<string, Value> = { loss };
    const names = Object.keys(parameters);
    differentiate([{ value: loss, gradient: graph.input("d", "float32", loss.shape) }], values).forEach(
      (gradient, i) => {
        outputs[`gradient:${names[i]}`] = gradient;
      },
    );
    const weights = draw(1, 10, 1);
    const forward = toOnnx({ loss });
    const gradients = await runModel(toOnnx(outputs), { ...parameters, ...others, d: weights });

    for (const name of names) {
      const { shape, data } = parameters[name];
      const direction = data.map(() => random.normal());
      const lossAt = async (distance: number) => {
        const moved = { shape, data: data.map((value, i) => value + distance * direction[i]) };
        const result = await runModel(forward, { ...parameters, ...others, [name]: moved });
        return result.loss.data.reduce((sum, value, i) => sum + value * weights.data[i], 0);
      };
      const [far, near] = [8e-3, 4e-3];
      const step = async (h: number) => ((await lossAt(h)) - (await lossAt(-h))) / (2 * h);
      const measured = (4 * (await step(near)) - (await step(far))) / 3; // Richardson: the error is of fourth order
      const gradient = gradients[`gradient:${name}`].data;
      const slope = gradient.reduce((sum, value, i) => sum + value * direction[i], 0);
      expect(Math.abs(measured - slope) / Math.hypot(...gradient), name).toBeLessThan(1e-3);
    }
  });
});

/** Grouped attention with two query heads per key, a gated product, tied embeddings, log-probability and entropy. */
function decoderLayer(parameters: Record<string, Numbers>) {
  const graph = new Graph();
  const values = Object.entries(parameters).map(([name, { shape }]) => graph.input(name, "float32", shape));
  const [table, q, k, v, gate, norm, bias] = values as [Value, Value, Value, Value, Value, Value, Value];
  const x = takeRows(table, graph.input("tokens", "int64", ["B", "S"]));
  const positions = graph.input("positions", "int64", ["B", "S"]);
  const [cos, sin] = [graph.input("cos", "float32", [5, 2]), graph.input("sin", "float32", [5, 2])];
  const normal = rmsNorm(x, norm, 1e-3);
  const heads = (weight: Value, count: number, isTurned: boolean) => {
    const projected = matmul(normal, weight, { transposeB: true });
    const turned = isTurned ? rotary(projected, positions, cos, sin) : projected;
    return transpose(reshape(turned, ["B", "S", count, 4]), [0, 2, 1, 3]);
  };
  const query = reshape(heads(q, 2, true), ["B", 1, "2*S", 4]);
  const scores = reshape(matmul(query, heads(k, 1, true), { transposeB: true, scale: 0.5 }), ["B", 2, "S", "S"]);
  const seen = softmax(add(scores, graph.input("mask", "float32", ["S", "S"])));
  const attended = matmul(reshape(seen, ["B", 1, "2*S", "S"]), heads(v, 1, false));
  const joined = reshape(transpose(reshape(attended, ["B", 2, "S", 4]), [0, 2, 1, 3]), ["B", "S", 8]);
  const residual = add(x, add(joined, bias));
  const gated = mul(silu(matmul(residual, gate)), tanh(residual));
  const all = logSoftmax(matmul(reshape(gated, ["B*S", 8]), table, { transposeB: true }));
  const chosen = pick(all, graph.input("chosen", "int64", ["B*S", 1]));
  const entropy = neg(sumKeep(mul(exp(all), all), [-1]));
  return { graph, values, loss: add(chosen, log(add(entropy, graph.constant(1)))) };
}
