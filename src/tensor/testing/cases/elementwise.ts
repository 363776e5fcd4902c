import type { Value } from "../../graph.ts";
import { add, div, exp, log, mul, neg, sigmoid, silu, sqrt, sub, tanh } from "../../operators/elementwise.ts";
import type { Shape } from "../../shape.ts";
import { map, zip } from "../numbers.ts";
import { type CaseInput, divisors, floats, type OperatorCase, positives } from "../operator-case.ts";

type Draw = (...shape: Shape) => CaseInput;

interface BinaryOperator {
  operator: string;
  build(a: Value, b: Value): Value;
  compute(x: number, y: number): number;
  second: Draw;
}

const binaryOperators: readonly BinaryOperator[] = [
  { operator: "add", build: add, compute: (x, y) => x + y, second: floats },
  { operator: "sub", build: sub, compute: (x, y) => x - y, second: floats },
  { operator: "mul", build: mul, compute: (x, y) => x * y, second: floats },
  { operator: "div", build: div, compute: (x, y) => x / y, second: divisors },
];

// every way two shapes can meet: equal, a missing axis, an axis of 1 on either side or on both, a scalar, symbols
const meetings: readonly (readonly [Shape, Shape])[] = [
  [
    ["B", 3],
    ["B", 3],
  ],
  [["B", "S", 3], [3]],
  [[3], ["B", "S", 3]],
  [
    ["B", "S", 3],
    ["B", 1, 3],
  ],
  [
    ["B", 1, 3],
    ["B", "S", 1],
  ],
  [
    [1, "S"],
    ["B", 1],
  ],
  [
    ["S", "T"],
    ["B", 1, "T"],
  ],
  [
    [2, 1, 1, 3],
    [4, 1],
  ],
  [["B", 2], []],
  [[], ["B", 2]],
  [[], []],
  [
    [1, 1],
    ["B", "S"],
  ],
  [[1], []],
];

const binaryCases = binaryOperators.flatMap(({ operator, build, compute, second }): OperatorCase[] => [
  ...meetings.map(
    ([a, b]): OperatorCase => ({
      operator,
      about: `[${a}] with [${b}]`,
      trial: () => ({
        inputs: [floats(...a), second(...b)],
        build: (x, y) => build(x, y),
        reference: (x, y) => zip(x, y, compute),
      }),
    }),
  ),
  {
    operator,
    about: "a value with itself",
    trial: () => ({
      inputs: [second("B", 3)],
      build: (x) => build(x, x),
      reference: (x) => map(x, (value) => compute(value, value)),
    }),
  },
  ...[0, 1, -2.5].flatMap((constant): OperatorCase[] => [
    {
      operator,
      about: `with the constant ${constant}`,
      trial: () => ({
        inputs: [floats("B", 3)],
        build: (x) => build(x, x.graph.constant(constant === 0 && operator === "div" ? 4 : constant)),
        reference: (x) => map(x, (value) => compute(value, constant === 0 && operator === "div" ? 4 : constant)),
      }),
    },
    {
      operator,
      about: `the constant ${constant} with a value`,
      trial: () => ({
        inputs: [second("B", 3)],
        build: (x) => build(x.graph.constant(constant), x),
        reference: (x) => map(x, (value) => compute(constant, value)),
      }),
    },
  ]),
  {
    operator,
    about: "two constants, to which a value is added",
    trial: () => ({
      inputs: [floats("B")],
      build: (x) => add(x, build(x.graph.constant(3), x.graph.constant(-4))),
      reference: (x) => map(x, (value) => value + compute(3, -4)),
    }),
  },
]);

const logistic = (x: number) => 1 / (1 + Math.exp(-x));
const unaryOperators: readonly [string, (x: Value) => Value, (x: number) => number, Draw][] = [
  ["neg", neg, (x) => -x, floats],
  ["exp", exp, Math.exp, floats],
  ["log", log, Math.log, positives],
  ["sqrt", sqrt, Math.sqrt, positives],
  ["tanh", tanh, Math.tanh, floats],
  ["sigmoid", sigmoid, logistic, floats],
  ["silu", silu, (x) => x * logistic(x), floats],
];

const unaryCases = unaryOperators.flatMap(([operator, build, compute, draw]): OperatorCase[] =>
  [[], [5], ["B", "S", 2], ["B", 1, "T", 3]].map((shape) => ({
    operator,
    about: `of [${shape}]`,
    trial: () => ({
      inputs: [draw(...shape)],
      build: (x) => build(x),
      reference: (x) => map(x, compute),
    }),
  })),
);

// the sign of a product goes to its smaller factor
const negatedProducts = meetings.map(
  ([a, b]): OperatorCase => ({
    operator: "neg",
    about: `of a product of [${a}] and [${b}]`,
    trial: () => ({
      inputs: [floats(...a), floats(...b)],
      build: (x, y) => neg(mul(x, y)),
      reference: (x, y) => zip(x, y, (left, right) => -left * right),
    }),
  }),
);

export const elementwiseCases: readonly OperatorCase[] = [...binaryCases, ...unaryCases, ...negatedProducts];
