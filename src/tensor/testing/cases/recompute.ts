import { exp, mul, silu, tanh } from "../../operators/elementwise.ts";
import { matmul } from "../../operators/matmul.ts";
import { after, recompute } from "../../operators/recompute.ts";
import { map, multiply, zip } from "../numbers.ts";
import { floats, type OperatorCase } from "../operator-case.ts";

const logistic = (x: number) => 1 / (1 + Math.exp(-x));

export const recomputeCases: readonly OperatorCase[] = [
  {
    operator: "recompute",
    about: "a segment that uses a weight from outside",
    trial: () => ({
      inputs: [floats("B", 3), floats(3, 4)],
      build: (x, weight) => recompute([x], ([again]) => silu(matmul(tanh(again), weight))),
      reference: (x, weight) => map(multiply(map(x, Math.tanh), weight), (value) => value * logistic(value)),
    }),
  },
  {
    operator: "recompute",
    about: "a segment of two inputs, one of them used elsewhere too",
    trial: () => ({
      inputs: [floats("B", 3), floats("B", 3)],
      build: (a, b) =>
        mul(
          recompute([a, b], ([x, y]) => mul(exp(x), tanh(mul(y, y)))),
          b,
        ),
      reference: (a, b) => zip(a, b, (x, y) => Math.exp(x) * Math.tanh(y * y) * y),
    }),
  },
  {
    operator: "recompute",
    about: "a segment inside a segment",
    trial: () => ({
      inputs: [floats("B", 3), floats(3, 3)],
      build: (x, weight) =>
        recompute([x], ([outer]) =>
          matmul(
            recompute([tanh(outer)], ([inner]) => exp(matmul(inner, weight))),
            weight,
          ),
        ),
      reference: (x, weight) => multiply(map(multiply(map(x, Math.tanh), weight), Math.exp), weight),
    }),
  },
  ...[[], [3], ["B", "S", 2]].map(
    (shape): OperatorCase => ({
      operator: "after",
      about: `[${shape}] after another value`,
      trial: () => ({
        inputs: [floats(...shape), floats("T", 2)],
        build: (x, cue) => after(x, cue),
        reference: (x) => x,
      }),
    }),
  ),
];
