import { rmsNorm } from "../../operators/rms-norm.ts";
import { rotary } from "../../operators/rotary.ts";
import { logSoftmax, softmax } from "../../operators/softmax.ts";
import { sum, sumKeep, sumTo } from "../../operators/sum.ts";
import { concreteShape, type Shape } from "../../shape.ts";
import { at, fill, mapRows, type Numbers, sumAxes, withShape } from "../numbers.ts";
import { floats, type OperatorCase, wholes } from "../operator-case.ts";

const total = (row: readonly number[]) => row.reduce((a, b) => a + b, 0);

function softmaxRow(row: readonly number[]): number[] {
  const most = Math.max(...row);
  const powers = row.map((value) => Math.exp(value - most));
  return powers.map((power) => power / total(powers));
}

const shapes: readonly Shape[] = [[5], ["B", 4], ["B", "S", 3], ["B", 2, "S", "T"], ["B", 1]];

const softmaxCases = shapes.flatMap((shape): OperatorCase[] => [
  {
    operator: "softmax",
    about: `of [${shape}]`,
    trial: () => ({
      inputs: [floats(...shape)],
      build: (x) => softmax(x),
      reference: (x) => mapRows(x, softmaxRow),
    }),
  },
  {
    operator: "logSoftmax",
    about: `of [${shape}]`,
    trial: () => ({
      inputs: [floats(...shape)],
      build: (x) => logSoftmax(x),
      reference: (x) => mapRows(x, (row) => softmaxRow(row).map(Math.log)),
    }),
  },
]);

const normCases = [[5], ["B", 4], ["B", "S", 3], ["B", "S", 2, 3]].flatMap((shape) =>
  [1e-6, 0.1].map(
    (epsilon): OperatorCase => ({
      operator: "rmsNorm",
      about: `of [${shape}], epsilon ${epsilon}`,
      trial: () => ({
        inputs: [floats(...shape), floats(shape.at(-1)!)],
        build: (x, weight) => rmsNorm(x, weight, epsilon),
        reference: (x, weight) =>
          mapRows(x, (row) => {
            const scale = 1 / Math.sqrt(total(row.map((value) => value * value)) / row.length + epsilon);
            return row.map((value, i) => value * scale * weight.data[i]);
          }),
      }),
    }),
  ),
);

const table = { ...floats(7, 2), isConstant: true };

/** Element i of a head of four turns with element i + 2, by the angle of the row's position. */
function rotateHeads(x: Numbers, angleRow: (index: readonly number[]) => number, cos: Numbers, sin: Numbers): Numbers {
  return fill(x.shape, (index) => {
    const [before, last] = [index.slice(0, -1), index.at(-1)!];
    const [start, i] = [last - (last % 4), last % 4];
    const row = angleRow(index);
    const [c, s] = [at(cos, [row, i % 2]), at(sin, [row, i % 2])];
    const own = at(x, index);
    return i < 2 ? own * c - at(x, [...before, start + i + 2]) * s : own * c + at(x, [...before, start + i - 2]) * s;
  });
}

const rotaryCases: readonly OperatorCase[] = [
  ...[4, 12].map(
    (width): OperatorCase => ({
      operator: "rotary",
      about: `of ${width / 4} heads side by side`,
      trial: () => ({
        inputs: [floats("B", "S", width), wholes(7, "B", "S"), table, table],
        build: (x, positions, cos, sin) => rotary(x, positions, cos, sin),
        reference: (x, positions, cos, sin) => rotateHeads(x, ([b, s]) => at(positions, [b, s]), cos, sin),
      }),
    }),
  ),
  {
    operator: "rotary",
    about: "of heads as an axis",
    trial: () => ({
      inputs: [floats("B", 3, "S", 4), wholes(7, "B", "S"), table, table],
      build: (x, positions, cos, sin) => rotary(x, positions, cos, sin),
      reference: (x, positions, cos, sin) => rotateHeads(x, ([b, , s]) => at(positions, [b, s]), cos, sin),
    }),
  },
];

const sums: readonly (readonly [Shape, readonly number[]])[] = [
  [["B", "S", 3], [-1]],
  [["B", "S", 3], [0]],
  [
    ["B", "S", 3],
    [0, 2],
  ],
  [
    ["B", "S", 3],
    [2, 0, -2],
  ],
  [
    ["B", 1, 3],
    [1, -1],
  ],
  [["B", 1, 3], [1]],
  [["B", 3], []],
];

const sumCases = sums.flatMap(([shape, axes]): OperatorCase[] => {
  const normal = axes.map((axis) => (axis < 0 ? axis + shape.length : axis));
  const gone = (kept: Numbers) =>
    withShape(
      kept,
      kept.shape.filter((_, axis) => !normal.includes(axis)),
    );
  return [
    {
      operator: "sumKeep",
      about: `[${shape}] over [${axes}]`,
      trial: () => ({
        inputs: [floats(...shape)],
        build: (x) => sumKeep(x, axes),
        reference: (x) => sumAxes(x, normal),
      }),
    },
    {
      operator: "sum",
      about: `[${shape}] over [${axes}]`,
      trial: () => ({
        inputs: [floats(...shape)],
        build: (x) => sum(x, axes),
        reference: (x) => gone(sumAxes(x, normal)),
      }),
    },
  ];
});

const sumTargets: readonly (readonly [Shape, Shape])[] = [
  [["B", "S", 3], [3]],
  [
    ["B", "S", 3],
    ["B", 1, 3],
  ],
  [
    ["B", "S", 3],
    ["S", 1],
  ],
  [["B", "S", 3], []],
  [
    ["B", "S"],
    [1, 1],
  ],
  [
    ["B", 1, 3],
    [1, 3],
  ],
  [
    ["B", "S"],
    ["B", "S"],
  ],
];

const sumToCases = sumTargets.map(
  ([from, to]): OperatorCase => ({
    operator: "sumTo",
    about: `[${from}] to [${to}]`,
    trial: (_, symbols) => ({
      inputs: [floats(...from)],
      build: (x) => sumTo(x, to),
      reference(x) {
        const extra = from.length - to.length;
        const axes = from.flatMap((_dim, axis) => (axis < extra || to[axis - extra] === 1 ? [axis] : []));
        return withShape(sumAxes(x, axes), concreteShape(to, symbols));
      },
    }),
  }),
);

export const normalCases: readonly OperatorCase[] = [
  ...softmaxCases,
  ...normCases,
  ...rotaryCases,
  ...sumCases,
  ...sumToCases,
];
