import { describe, expect, test } from "vitest";
import * as tensor from "../index.ts";
import { Graph, type Value } from "../index.ts";
import { expandLike } from "./expand-like.ts";
import { reshapeLike } from "./layout.ts";
import { placeAdd } from "./place.ts";
import { addRows } from "./rows.ts";
import { sumTo } from "./sum.ts";

// A wrong graph fails where it is built: the message names the operator, the shapes and the rule.

type Build = (inputs: { graph: Graph; m23: Value; m45: Value; v5: Value; cube: Value; whole: Value }) => unknown;

const mismatches: readonly (readonly [string, Build, string])[] = [
  ["add", ({ m23, m45 }) => tensor.add(m23, m45), "add([2, 3], [4, 5]): dimensions 2 and 4 do not broadcast"],
  ["sub", ({ m23, v5 }) => tensor.sub(m23, v5), "sub([2, 3], [5]): dimensions 3 and 5 do not broadcast"],
  ["mul", ({ m23, m45 }) => tensor.mul(m23, m45), "mul([2, 3], [4, 5]): dimensions 2 and 4 do not broadcast"],
  ["div", ({ m23, whole }) => tensor.div(m23, whole), "div([2, 3], [2, 3]): takes float32 values"],
  ["neg", ({ whole }) => tensor.neg(whole), "neg([2, 3]): takes float32 values"],
  ["exp", ({ whole }) => tensor.exp(whole), "exp([2, 3]): takes float32 values"],
  ["log", ({ whole }) => tensor.log(whole), "log([2, 3]): takes float32 values"],
  ["sqrt", ({ whole }) => tensor.sqrt(whole), "sqrt([2, 3]): takes float32 values"],
  ["tanh", ({ whole }) => tensor.tanh(whole), "tanh([2, 3]): takes float32 values"],
  ["sigmoid", ({ whole }) => tensor.sigmoid(whole), "sigmoid([2, 3]): takes float32 values"],
  ["silu", ({ whole }) => tensor.silu(whole), "silu([2, 3]): takes float32 values"],
  ["expandLike", ({ m23, v5 }) => expandLike(v5, m23), "expandLike([5], [2, 3]): dimensions 5 and 3"],
  [
    "expandLike",
    ({ m23, v5, graph }) => expandLike(graph.input("one", "float32", [2, 1, 3]), m23) && v5,
    "expandLike([2, 1, 3], [2, 3]): the first must broadcast to the second",
  ],
  [
    "concat",
    ({ m23, m45 }) => tensor.concat([m23, m45], 0),
    "concat([2, 3], [4, 5]): all but axis 0 must be equal, and all of one type",
  ],
  ["concat", ({ m23 }) => tensor.concat([m23, m23], 2), "concat([2, 3]): axis 2 must be in -2..1"],
  ["concat", ({ m23, whole }) => tensor.concat([m23, whole], 0), "concat([2, 3], [2, 3]): all but axis 0"],
  ["concat", () => tensor.concat([], 0), "concat(): needs at least one value"],
  ["reshape", ({ m23 }) => tensor.reshape(m23, [7]), "reshape([2, 3], [7]): 6 elements cannot become 7"],
  [
    "reshape",
    ({ cube }) => tensor.reshape(tensor.reshape(cube, ["B*S*T"]), ["S", "B*T"]),
    "reshape([B*S*T], [S, B*T]): at most one symbolic dimension may move to another axis",
  ],
  ["reshapeLike", ({ cube, v5 }) => reshapeLike(v5, cube), "reshapeLike([5], [B, S, T]): both must have"],
  ["unflattenLike", ({ cube, m23 }) => tensor.unflattenLike(cube, m23), "unflattenLike([B, S, T], [2, 3]): the first"],
  [
    "unflattenLike",
    ({ graph, m23 }) => tensor.unflattenLike(graph.input("flat", "float32", [1, 6, "T"]), m23),
    "unflattenLike([1, 6, T], [2, 3]): what follows the rows must be numbers",
  ],
  [
    "padRows",
    ({ m23, whole, v5 }) => tensor.padRows(m23, whole, v5),
    "padRows([2, 3], [2, 3], [5]): needs two int64 tables",
  ],
  [
    "padRows",
    ({ graph, m23, whole }) => tensor.padRows(m23, whole, graph.input("back", "int64", [5])),
    "padRows([2, 3], [2, 3], [5]): takes float32 [N, width]",
  ],
  [
    "unpadRows",
    ({ graph, m23, whole }) => tensor.unpadRows(m23, whole, graph.input("back", "int64", [5])),
    "unpadRows([2, 3], [2, 3], [5]): takes float32 [B, S, width]",
  ],
  [
    "unpadRows",
    ({ graph, whole }) =>
      tensor.unpadRows(graph.input("x", "float32", [3, 2, 4]), whole, graph.input("back", "int64", [5])),
    "unpadRows([3, 2, 4], [2, 3], [5]): needs as many places as there are rows",
  ],
  ["repeatLike", ({ m23, m45 }) => tensor.repeatLike(m23, m45), "repeatLike([2, 3], [4, 5]): the first must have one"],
  ["split", ({ m23 }) => tensor.split(m23, [1, 1], -1), "split([2, 3]): parts [1,1] must add up to 3 along axis 1"],
  [
    "split",
    ({ m23, m45 }) => tensor.split(m23, [m45, 1], 1),
    "split([2, 3], [4, 5]): parts [5,1] must add up to 3 along axis 1",
  ],
  ["transpose", ({ m23 }) => tensor.transpose(m23, [0, 0]), "transpose([2, 3]): order [0,0] must name each of 2 axes"],
  ["transpose", ({ m23 }) => tensor.transpose(m23, [0, -2]), "transpose([2, 3]): order [0,-2] must name each of 2"],
  ["transpose", ({ m23 }) => tensor.transpose(m23, [1]), "transpose([2, 3]): order [1] must name each of 2 axes once"],
  ["transpose", ({ m23 }) => tensor.transpose(m23, [0, 2]), "transpose([2, 3]): axis 2 must be in -2..1"],
  [
    "transpose",
    ({ cube }) => tensor.transpose(tensor.transpose(cube, [2, 0, 1]), [0, 1]),
    "transpose([T, B, S]): order [0,1] must name each of 3 axes once",
  ],
  [
    "matmul",
    ({ m23, m45 }) => tensor.matmul(m23, m45),
    "matmul([2, 3], [4, 5]): inner dimensions 3 and 4 must be equal",
  ],
  [
    "matmul",
    ({ m23, m45 }) => tensor.matmul(m23, m45, { transposeA: true, transposeB: true }),
    "matmul Aᵀ Bᵀ([2, 3], [4, 5]): inner dimensions 2 and 5 must be equal",
  ],
  ["matmul", ({ m23, v5 }) => tensor.matmul(m23, v5), "matmul([2, 3], [5]): both must have two axes or more"],
  ["matmul", ({ m23, whole }) => tensor.matmul(m23, whole), "matmul([2, 3], [2, 3]): takes float32 values"],
  ["pick", ({ m23, m45 }) => tensor.pick(m23, m45), "pick([2, 3], [4, 5]): the index must be int64"],
  ["pick", ({ m45, whole }) => tensor.pick(m45, whole), "pick([4, 5], [2, 3]): all axes but the last must be equal"],
  ["pick", ({ v5, whole }) => tensor.pick(v5, whole), "pick([5], [2, 3]): all axes but the last must be equal"],
  [
    "placeAdd",
    ({ m23, whole, m45 }) => placeAdd(m23, whole, m45),
    "placeAdd([2, 3], [4, 5]): index and updates must have one shape",
  ],
  [
    "takeRows",
    ({ v5, whole }) => tensor.takeRows(v5, whole),
    "takeRows([5], [2, 3]): takes a float32 matrix and int64",
  ],
  ["takeRows", ({ whole }) => tensor.takeRows(whole, whole), "takeRows([2, 3], [2, 3]): takes a float32 matrix"],
  [
    "addRows",
    ({ m45, whole, graph }) => addRows(m45, whole, graph.input("rows", "float32", [3, 5])),
    "reshape([3, 5], [6, 5]): 15 elements cannot become 30",
  ],
  [
    "addRows",
    ({ m45, v5, graph }) => addRows(m45, v5, graph.input("rows", "float32", [5, 5])),
    "addRows([4, 5], [5], [5, 5]): needs a float32 matrix, N int64 row numbers and N rows of its width",
  ],
  ["softmax", ({ whole }) => tensor.softmax(whole), "softmax([2, 3]): takes float32 with one axis or more"],
  ["softmax", ({ graph }) => tensor.softmax(graph.constant(1)), "softmax([]): takes float32 with one axis or more"],
  ["logSoftmax", ({ whole }) => tensor.logSoftmax(whole), "logSoftmax([2, 3]): takes float32 with one axis or more"],
  [
    "rmsNorm",
    ({ m23, v5 }) => tensor.rmsNorm(m23, v5, 1e-6),
    "rmsNorm([2, 3], [5]): the weight must have the last axis",
  ],
  [
    "rmsNorm",
    ({ cube, graph }) => tensor.rmsNorm(cube, graph.input("weight", "float32", ["T"]), 1e-6),
    "rmsNorm([B, S, T], [T]): the last axis must be a number",
  ],
  [
    "rotary",
    ({ m23, whole, m45 }) => tensor.rotary(m23, whole, m45, m45),
    "rotary([2, 3], [2, 3], [4, 5], [4, 5]): takes [batch, length, heads·headWidth] or",
  ],
  [
    "rotary",
    ({ whole, m45, graph }) => tensor.rotary(graph.input("x", "float32", [2, 4, 10]), whole, m45, m45),
    "rotary([2, 4, 10], [2, 3], [4, 5], [4, 5]): needs int64 positions [batch, length]",
  ],
  ["sum", ({ m23 }) => tensor.sum(m23, [2]), "sum([2, 3]): axis 2 must be in -2..1"],
  ["sumKeep", ({ m23 }) => tensor.sumKeep(m23, [0.5]), "sum([2, 3]): axis 0.5 must be in -2..1"],
  ["sumKeep", ({ whole }) => tensor.sumKeep(whole, [1]), "sum([2, 3]): takes float32 values"],
  ["sumTo", ({ m23, v5 }) => sumTo(m23, v5.shape), "sumTo([2, 3], [5]): dimensions 3 and 5 do not broadcast"],
  ["sumTo", ({ m23 }) => sumTo(m23, [2, 2, 3]), "sumTo([2, 3], [2, 2, 3]): the second must broadcast to the first"],
  ["top", ({ m23, m45 }) => tensor.top(m23, m45), "top([2, 3], [4, 5]): takes float32 with one axis or more, and"],
  ["after", ({ m23, whole }) => tensor.after(m23, whole), "after([2, 3], [2, 3]): takes float32 values"],
  ["after", ({ m23, whole }) => tensor.after(whole, m23), "after([2, 3], [2, 3]): takes float32 values"],
  [
    "recompute",
    ({ whole }) => tensor.recompute([whole], ([x]) => x),
    "recompute([2, 3], [2, 3]): the segment must give",
  ],
];

describe("what does not fit", () => {
  test.each(mismatches)("%s: %#", (_, build, message) => {
    const graph = new Graph();
    const float = (name: string, shape: tensor.Shape) => graph.input(name, "float32", shape);
    const inputs = {
      graph,
      m23: float("m23", [2, 3]),
      m45: float("m45", [4, 5]),
      v5: float("v5", [5]),
      cube: float("cube", ["B", "S", "T"]),
      whole: graph.input("whole", "int64", [2, 3]),
    };
    let error: unknown;
    try {
      build(inputs);
    } catch (caught) {
      error = caught;
    }
    expect(error).toBeInstanceOf(tensor.TensorError);
    expect((error as Error).message).toContain(message);
  });

  test("every operator that can be misused is", () => {
    const others = [
      "Graph",
      "Node",
      "Value",
      "TensorError",
      "accumulateGradients",
      "concreteShape",
      "differentiate",
      "product",
    ];
    const cannotFail = ["toOnnx", "zerosLike"];
    const exported = Object.keys(tensor).filter((name) => ![...others, ...cannotFail].includes(name));
    const tried = new Set(mismatches.map(([operator]) => operator));
    expect(exported.filter((name) => !tried.has(name))).toEqual([]);
  });
});

test("values of two graphs do not mix", () => {
  const [a, b] = [new Graph(), new Graph()].map((graph) => graph.input("x", "float32", ["B", 2]));
  expect(() => tensor.add(a, b)).toThrow("add([B, 2]): all inputs must belong to one graph");
});

test("a symbol is equal to itself and to nothing else", () => {
  const graph = new Graph();
  const [b, s] = ["B", "S"].map((symbol) => graph.input(symbol, "float32", [symbol, 2]));
  expect(() => tensor.add(b, s)).toThrow("add([B, 2], [S, 2]): dimensions B and S do not broadcast");
});
