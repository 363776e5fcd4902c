import { describe, expect, test } from "vitest";
import { reachable } from "./graph.ts";
import { add, concat, div, Graph, matmul, mul, neg, reshape, sub, sumKeep, transpose } from "./index.ts";

const twoInputs = () => {
  const graph = new Graph();
  return { graph, x: graph.input("x", "float32", ["B", 3]), y: graph.input("y", "float32", ["B", 3]) };
};

describe("common subexpressions", () => {
  test("the same operator on the same values is one node", () => {
    const { x, y } = twoInputs();
    expect(mul(x, y)).toBe(mul(x, y));
    expect(add(mul(x, y), x)).toBe(add(mul(x, y), x));
    expect(matmul(x, y, { transposeB: true })).toBe(matmul(x, y, { transposeB: true, scale: 1 }));
    expect(sumKeep(x, [-1])).toBe(sumKeep(x, [1]));
  });

  test("other values, another order or other attributes are another node", () => {
    const { x, y } = twoInputs();
    expect(sub(x, y)).not.toBe(sub(y, x));
    expect(matmul(x, y, { transposeB: true })).not.toBe(matmul(x, y, { transposeB: true, scale: 2 }));
    expect(sumKeep(x, [0])).not.toBe(sumKeep(x, [1]));
    expect(concat([x, y], 0)).not.toBe(concat([x, y], 1));
  });

  test("equal constants are one node", () => {
    const { graph, x } = twoInputs();
    expect(graph.constant(0.5)).toBe(graph.constant(0.5));
    expect(graph.constant(0.5)).not.toBe(graph.constant(1));
    expect(mul(x, graph.constant(2))).toBe(mul(x, graph.constant(2)));
  });
});

describe("simplifications", () => {
  test("what changes nothing is not there", () => {
    const { graph, x } = twoInputs();
    const [zero, one] = [graph.constant(0), graph.constant(1)];
    for (const same of [add(x, zero), add(zero, x), sub(x, zero), mul(x, one), mul(one, x), div(x, one)]) {
      expect(same).toBe(x);
    }
    expect(neg(neg(x))).toBe(x);
    expect(reshape(x, ["B", 3])).toBe(x);
    expect(transpose(x, [0, 1])).toBe(x);
    expect(concat([x], 0)).toBe(x);
    expect(sumKeep(x, [])).toBe(x);
    const column = graph.input("column", "float32", ["B", 1]);
    expect(sumKeep(column, [1])).toBe(column);
  });

  test("a constant is not dropped where it changes the shape", () => {
    const graph = new Graph();
    const scalar = graph.constant(0);
    const x = graph.input("x", "float32", [1]);
    expect(add(scalar, x)).toBe(x);
    expect(add(x, scalar).shape).toEqual([1]);
  });

  test("constants are computed while building", () => {
    const { graph } = twoInputs();
    const [two, three] = [graph.constant(2), graph.constant(3)];
    expect(add(two, three)).toBe(graph.constant(5));
    expect(sub(two, three)).toBe(graph.constant(-1));
    expect(mul(two, three)).toBe(graph.constant(6));
    expect(div(three, two)).toBe(graph.constant(1.5));
    expect(neg(two)).toBe(graph.constant(-2));
  });

  test("a reshape of a reshape is one, and the way back is none", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", "S", 4]);
    const flat = reshape(x, ["B*S", 4]);
    expect(reshape(flat, ["B*S", 2, 2]).node.inputs).toEqual([x]);
    expect(reshape(flat, ["B", "S", 4])).toBe(x);
  });

  test("a transposition of a transposition is one, or none", () => {
    const graph = new Graph();
    const x = graph.input("x", "float32", ["B", "S", 4]);
    const turned = transpose(x, [1, 2, 0]);
    expect(transpose(turned, [2, 0, 1])).toBe(x);
    expect(transpose(turned, [0, 2, 1])).toBe(transpose(x, [1, 0, 2]));
    expect(transpose(x, [0, -1, -2])).toBe(transpose(x, [0, 2, 1]));
  });

  test("products take transpositions of their operands in", () => {
    const { x, y } = twoInputs();
    const flipped = (value: typeof x) => transpose(value, [1, 0]);
    expect(matmul(x, flipped(y))).toBe(matmul(x, y, { transposeB: true }));
    expect(matmul(flipped(x), y)).toBe(matmul(x, y, { transposeA: true }));
    expect(matmul(flipped(x), y, { transposeA: true, transposeB: true })).toBe(matmul(x, y, { transposeB: true }));
    const graph = new Graph();
    const a = graph.input("a", "float32", ["B", 2, 3]);
    const b = graph.input("b", "float32", ["B", 2, 3]);
    expect(matmul(transpose(a, [0, 2, 1]), b)).toBe(matmul(a, b, { transposeA: true }));
    // this one moves the batch axis: the product cannot do that
    expect(matmul(transpose(a, [2, 1, 0]), graph.input("c", "float32", [3, "B", 1])).node.inputs[0]).not.toBe(a);
  });

  test("the sign of a product goes to its smaller factor", () => {
    const { graph, x } = twoInputs();
    const column = graph.input("column", "float32", ["B", 1]);
    expect(neg(mul(x, column))).toBe(mul(x, neg(column)));
    expect(neg(mul(column, x))).toBe(mul(neg(column), x));
    expect(neg(mul(x, graph.constant(2)))).toBe(mul(x, graph.constant(-2)));
  });
});

test("input names are unique", () => {
  const { graph } = twoInputs();
  expect(() => graph.input("x", "float32", [1])).toThrow('input([1]): the name "x" is taken; input names are unique');
});

test("reachable lists what a value needs, inputs first, and nothing else", () => {
  const { x, y } = twoInputs();
  const unused = neg(y);
  const product = mul(x, x);
  expect(reachable([product]).map(({ operator }) => operator.name)).toEqual(["input", "mul"]);
  expect(reachable([unused, product]).map(({ operator }) => operator.name)).toEqual(["input", "input", "neg", "mul"]);
});
