import { transpose } from "../../operators/layout.ts";
import { type MatmulOptions, matmul } from "../../operators/matmul.ts";
import type { Shape } from "../../shape.ts";
import { map, multiply, type Numbers, swapped } from "../numbers.ts";
import { floats, type OperatorCase } from "../operator-case.ts";

// leading axes of both operands; the matrices behind them have sizes of their own
const batches: readonly (readonly [Shape, Shape])[] = [
  [[], []],
  [["B"], ["B"]],
  [["B"], []],
  [["B", "S"], []],
  [[], ["B"]],
  [[], ["B", 2]],
  [["B"], [1]],
  [[1], ["B"]],
  [
    ["B", 2],
    ["B", 2],
  ],
  [
    ["B", 1],
    [1, "S"],
  ],
  [["B", 2], [2]],
  [[2], ["B", 2]],
];

const flags: readonly MatmulOptions[] = [
  {},
  { transposeA: true },
  { transposeB: true },
  { transposeA: true, transposeB: true },
  { scale: 0.5 },
  { transposeA: true, transposeB: true, scale: -1.5 },
];

function reference(a: Numbers, b: Numbers, { transposeA, transposeB, scale = 1 }: MatmulOptions): Numbers {
  const product = multiply(transposeA ? swapped(a) : a, transposeB ? swapped(b) : b);
  return map(product, (value) => value * scale);
}

const flagCases = batches.flatMap((batch) =>
  flags.map(
    (options): OperatorCase => ({
      operator: "matmul",
      about: `[${[...batch[0], "M", "K"]}] [${[...batch[1], "K", "N"]}] ${JSON.stringify(options)}`,
      trial(random) {
        const [m, k, n] = [random.integer(1, 4), random.integer(1, 4), random.integer(1, 4)];
        const a = options.transposeA ? [k, m] : [m, k];
        const b = options.transposeB ? [n, k] : [k, n];
        return {
          inputs: [floats(...batch[0], ...a), floats(...batch[1], ...b)],
          build: (x, y) => matmul(x, y, options),
          reference: (x, y) => reference(x, y, options),
        };
      },
    }),
  ),
);

const otherCases: readonly OperatorCase[] = [
  {
    operator: "matmul",
    about: "of symbolic sizes, as in attention",
    trial: () => ({
      inputs: [floats("B", 2, "S", 3), floats("B", 2, "T", 3)],
      build: (query, key) => matmul(query, key, { transposeB: true, scale: 3 ** -0.5 }),
      reference: (query, key) => reference(query, key, { transposeB: true, scale: 3 ** -0.5 }),
    }),
  },
  {
    operator: "matmul",
    about: "of a value with itself",
    trial: () => ({
      inputs: [floats("B", "S", 3)],
      build: (x) => matmul(x, x, { transposeB: true }),
      reference: (x) => reference(x, x, { transposeB: true }),
    }),
  },
  ...[false, true].flatMap((transposeA) =>
    [false, true].map(
      (transposeB): OperatorCase => ({
        operator: "matmul",
        about: `of transpositions, ${transposeA}, ${transposeB}`,
        trial: (_, { B }) => {
          const [a, b] = [transposeA ? ["S", 2] : [2, "S"], transposeB ? [4, "S"] : ["S", 4]];
          const order = [0, 2, 1];
          return {
            inputs: [floats(B, ...a.toReversed()), floats(B, ...b.toReversed())],
            build: (x, y) => matmul(transpose(x, order), transpose(y, order), { transposeA, transposeB }),
            reference: (x, y) => reference(swapped(x), swapped(y), { transposeA, transposeB }),
          };
        },
      }),
    ),
  ),
  {
    operator: "matmul",
    about: "of a transposed batch and a transposed matrix",
    trial: () => ({
      inputs: [floats("B", 3, "S"), floats(4, 3)],
      build: (x, y) => matmul(transpose(x, [0, 2, 1]), transpose(y, [1, 0])),
      reference: (x, y) => multiply(swapped(x), swapped(y)),
    }),
  },
];

export const matmulCases: readonly OperatorCase[] = [...flagCases, ...otherCases];
