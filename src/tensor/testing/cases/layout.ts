import { repeatLike, unflattenLike } from "../../operators/batch-like.ts";
import { expandLike } from "../../operators/expand-like.ts";
import { concat, reshape, reshapeLike, split, transpose, zerosLike } from "../../operators/layout.ts";
import { concreteShape, type Shape } from "../../shape.ts";
import { at, fill, type Index, map, type Numbers, withShape } from "../numbers.ts";
import { floats, type OperatorCase } from "../operator-case.ts";

const reshapes: readonly (readonly [Shape, Shape])[] = [
  [
    ["B", "S", 4],
    ["B*S", 4],
  ],
  [
    ["B", "S", 6],
    ["B", "S", 2, 3],
  ],
  [
    ["B", 2, "S", 3],
    ["B", 6, "S"],
  ],
  [
    ["B", 4, "S", 3],
    ["B", 2, "2*S", 3],
  ],
  [["B", 2, 3], ["6*B"]],
  [[2, 3, 4], [24]],
  [[], [1, 1]],
  [[1, 1], []],
];

const reshapeCases = reshapes.flatMap(([from, to]): OperatorCase[] => [
  {
    operator: "reshape",
    about: `[${from}] to [${to}]`,
    trial: (_, symbols) => ({
      inputs: [floats(...from)],
      build: (x) => reshape(x, to),
      reference: (x) => withShape(x, concreteShape(to, symbols)),
    }),
  },
  {
    operator: "reshapeLike",
    about: `[${to}] to [${from}]`,
    trial: () => ({
      inputs: [floats(...to), floats(...from)],
      build: (x, like) => reshapeLike(x, like),
      reference: (x, like) => withShape(x, like.shape),
    }),
  },
]);

const transposes: readonly (readonly [Shape, readonly number[]])[] = [
  [
    ["B", "S"],
    [1, 0],
  ],
  [
    ["B", "S", 3],
    [0, 1, 2],
  ],
  [
    ["B", "S", 3],
    [1, 2, 0],
  ],
  [
    ["B", "S", 3],
    [2, 0, 1],
  ],
  [
    ["B", "S", 2, 3],
    [0, 2, 1, 3],
  ],
  [
    ["B", "S", 2, 3],
    [3, 0, 2, 1],
  ],
  [
    ["B", "S", 3],
    [0, -1, -2],
  ],
];

/** The reference: element `index` of the result lies where the order sends it. */
function reorder(x: Numbers, order: readonly number[]): Numbers {
  const axes = order.map((axis) => (axis < 0 ? axis + order.length : axis));
  const source = (index: Index) => axes.map((_, axis) => index[axes.indexOf(axis)]);
  const shape = axes.map((axis) => x.shape[axis]);
  return fill(shape, (index) => at(x, source(index)));
}

const transposeCases: readonly OperatorCase[] = [
  ...transposes.map(
    ([shape, order]): OperatorCase => ({
      operator: "transpose",
      about: `[${shape}] by [${order}]`,
      trial: () => ({
        inputs: [floats(...shape)],
        build: (x) => transpose(x, order),
        reference: (x) => reorder(x, order),
      }),
    }),
  ),
  {
    operator: "transpose",
    about: "of a transposition",
    trial: () => ({
      inputs: [floats("B", "S", 3)],
      build: (x) => transpose(transpose(x, [1, 2, 0]), [2, 1, 0]),
      reference: (x) => reorder(reorder(x, [1, 2, 0]), [2, 1, 0]),
    }),
  },
];

function join(parts: readonly Numbers[], axis: number): Numbers {
  const sizes = parts.map((part) => part.shape[axis]);
  const total = sizes.reduce((a, b) => a + b, 0);
  const shape = parts[0].shape.map((size, i) => (i === axis ? total : size));
  return fill(shape, (index) => {
    let place = index[axis];
    let part = 0;
    while (place >= sizes[part]) place -= sizes[part++];
    return at(
      parts[part],
      index.map((i, other) => (other === axis ? place : i)),
    );
  });
}

function cut(x: Numbers, sizes: readonly number[], axis: number): Numbers[] {
  let start = 0;
  return sizes.map((size) => {
    const offset = start;
    start += size;
    const shape = x.shape.map((dim, i) => (i === axis ? size : dim));
    return fill(shape, (index) =>
      at(
        x,
        index.map((i, other) => (other === axis ? i + offset : i)),
      ),
    );
  });
}

const concats: readonly (readonly [readonly Shape[], number])[] = [
  [[["B"], ["S"]], 0],
  [
    [
      ["B", 2],
      ["B", 1],
      ["B", 3],
    ],
    1,
  ],
  [
    [
      ["B", 2, "S"],
      ["B", 2, "T"],
    ],
    -1,
  ],
  [
    [
      ["B", "S", 2],
      ["B", "T", 2],
      ["B", 2, 2],
    ],
    -2,
  ],
  [
    [
      [2, 3],
      [1, 3],
    ],
    0,
  ],
  [[["B", 2]], 0],
];

const concatCases = concats.map(
  ([shapes, axis]): OperatorCase => ({
    operator: "concat",
    about: `${shapes.map((shape) => `[${shape}]`).join(", ")} along ${axis}`,
    trial: () => ({
      inputs: shapes.map((shape) => floats(...shape)),
      build: (...values) => concat(values, axis),
      reference: (...parts) => join(parts, axis < 0 ? axis + parts[0].shape.length : axis),
    }),
  }),
);

const splitCases: readonly OperatorCase[] = [
  {
    operator: "split",
    about: "into sizes",
    trial: () => ({
      inputs: [floats("B", 6, "S")],
      build: (x) => split(x, [1, 3, 2], 1),
      reference: (x) => cut(x, [1, 3, 2], 1),
    }),
  },
  {
    operator: "split",
    about: "of which one part is used",
    trial: () => ({
      inputs: [floats("B", 5)],
      build: (x) => split(x, [2, 2, 1], -1)[1],
      reference: (x) => cut(x, [2, 2, 1], 1)[1],
    }),
  },
  {
    operator: "split",
    about: "into symbolic sizes",
    trial: (_, { S, T }) => ({
      inputs: [floats("B", 2, "S"), floats("B", 2, "T")],
      build: (a, b) => split(concat([a, b, a], -1), [a, b, a], -1),
      reference: (a, b) => cut(join([a, b, a], 2), [S, T, S], 2),
    }),
  },
  {
    operator: "split",
    about: "into sizes of both kinds, of which one part is used",
    trial: (_, { S }) => ({
      inputs: [floats("S", 3), floats(2, 3)],
      build: (a, b) => split(concat([a, b], 0), [a, 2], 0)[1],
      reference: (a, b) => cut(join([a, b], 0), [S, 2], 0)[1],
    }),
  },
  {
    operator: "split",
    about: "into the numeric sizes of other values",
    trial: () => ({
      inputs: [floats("B", 4), floats(1, 3), floats(1, 1)],
      build: (x, a, b) => split(x, [a, b], 1),
      reference: (x) => cut(x, [3, 1], 1),
    }),
  },
];

const expansions: readonly (readonly [Shape, Shape])[] = [
  [
    ["B", 1, 3],
    ["B", "S", 3],
  ],
  [[3], ["B", "S", 3]],
  [
    [1, "S", 1],
    ["B", "S", 2],
  ],
  [[], ["B", "S"]],
  [
    ["B", "S"],
    ["B", "S"],
  ],
];

const likeCases: readonly OperatorCase[] = [
  ...expansions.map(
    ([from, to]): OperatorCase => ({
      operator: "expandLike",
      about: `[${from}] to [${to}]`,
      trial: () => ({
        inputs: [floats(...from), floats(...to)],
        build: (x, like) => expandLike(x, like),
        reference: (x, like) => fill(like.shape, (index) => at(x, index)),
      }),
    }),
  ),
  {
    operator: "unflattenLike",
    about: "rows of a flat batch",
    trial: () => ({
      inputs: [floats(1, "B*S", 3), floats("B", "S")],
      build: (x, like) => unflattenLike(x, like),
      reference: (x, like) => withShape(x, [...like.shape, 3]),
    }),
  },
  {
    operator: "repeatLike",
    about: "one row for all",
    trial: () => ({
      inputs: [floats(1, "S", 2), floats("B", 3)],
      build: (x, like) => repeatLike(x, like),
      reference: (x, like) => fill([like.shape[0], ...x.shape.slice(1)], (index) => at(x, index)),
    }),
  },
  {
    operator: "zerosLike",
    about: "of a value",
    trial: () => ({
      inputs: [floats("B", "S")],
      build: (x) => zerosLike(x),
      reference: (x) => map(x, () => 0),
    }),
  },
];

export const layoutCases: readonly OperatorCase[] = [
  ...reshapeCases,
  ...transposeCases,
  ...concatCases,
  ...splitCases,
  ...likeCases,
];
