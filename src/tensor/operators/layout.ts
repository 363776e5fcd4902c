import type { Emitter, Node, Operator, Value } from "../graph.ts";
import { type Dim, normalAxis, product, type Shape, sameShape, TensorError } from "../shape.ts";

function parseDims(text: string): Shape {
  return text === "" ? [] : text.split(",").map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
}

const reshapeOperator: Operator = {
  name: "reshape",
  infer([x], { shape }) {
    const target = parseDims(String(shape));
    if (product(x!.shape) !== product(target)) {
      throw new TensorError(
        "reshape",
        [x!.shape, target],
        `${product(x!.shape)} elements cannot become ${product(target)}`,
      );
    }
    return [{ dtype: x!.dtype, shape: target }];
  },
  derivative: (node, [g]) => [reshapeLike(g!, node.inputs[0]!)],
  emit(node, emitter) {
    const x = node.inputs[0]!;
    const target = emitter.integers(reshapeTarget(x.shape, node.outputs[0]!.shape));
    emitter.node("Reshape", [emitter.name(x), target], [emitter.name(node.outputs[0]!)]);
  },
};

/** ONNX wants numbers: 0 copies the input's dimension at the same axis, one -1 is worked out. */
function reshapeTarget(from: Shape, to: Shape): number[] {
  let unknown = 0;
  const target = to.map((dim, axis) => {
    if (typeof dim === "number") return dim;
    if (dim === from[axis]) return 0;
    unknown++;
    return -1;
  });
  if (unknown > 1)
    throw new TensorError("reshape", [from, to], "at most one symbolic dimension may move to another axis");
  return target;
}

export function reshape(x: Value, shape: Shape): Value {
  const source = x.node.operator === reshapeOperator ? x.node.inputs[0]! : x;
  if (sameShape(source.shape, shape)) return source;
  return x.graph.apply(reshapeOperator, [canReshape(source.shape, shape) ? source : x], { shape: shape.join(",") })[0]!;
}

function canReshape(from: Shape, to: Shape): boolean {
  return to.filter((dim, axis) => typeof dim === "string" && dim !== from[axis]).length <= 1;
}

const reshapeLikeOperator: Operator = {
  name: "reshapeLike",
  infer([x, like]) {
    if (product(x!.shape) !== product(like!.shape)) {
      throw new TensorError("reshapeLike", [x!.shape, like!.shape], "both must have the same number of elements");
    }
    return [{ dtype: x!.dtype, shape: like!.shape }];
  },
  derivative: (node, [g]) => [reshapeLike(g!, node.inputs[0]!), undefined],
  emit(node, emitter) {
    const shape = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[1]!)], [shape]);
    emitter.node("Reshape", [emitter.name(node.inputs[0]!), shape], [emitter.name(node.outputs[0]!)]);
  },
};

/** `x` in the shape of `like`: the way back from a flattening, which numbers alone cannot tell. */
export function reshapeLike(x: Value, like: Value): Value {
  if (canReshape(x.shape, like.shape)) return reshape(x, like.shape);
  return x.graph.apply(reshapeLikeOperator, [x, like])[0]!;
}

const transposeOperator: Operator = {
  name: "transpose",
  infer([x], { order }) {
    const axes = order as readonly number[];
    if (axes.length !== x!.shape.length || new Set(axes).size !== axes.length) {
      throw new TensorError("transpose", [x!.shape], `order [${axes}] must name each of ${x!.shape.length} axes once`);
    }
    return [{ dtype: x!.dtype, shape: axes.map((axis) => x!.shape[normalAxis("transpose", x!.shape, axis)]!) }];
  },
  derivative(node, [g]) {
    const order = node.attributes.order as readonly number[];
    return [
      transpose(
        g!,
        order.map((_, axis) => order.indexOf(axis)),
      ),
    ];
  },
  emit(node, emitter) {
    const order = node.attributes.order as readonly number[];
    emitter.node("Transpose", node.inputs.map(emitter.name), node.outputs.map(emitter.name), { perm: { ints: order } });
  },
};

export function transpose(x: Value, order: readonly number[]): Value {
  const inner = transposeOrder(x);
  if (inner !== undefined)
    return transpose(
      x.node.inputs[0]!,
      order.map((axis) => inner[axis]!),
    );
  if (order.every((axis, i) => axis === i)) return x;
  return x.graph.apply(transposeOperator, [x], { order: [...order] })[0]!;
}

/** The order of a transposed value, so that products can take the transposition in. */
export function transposeOrder(x: Value): readonly number[] | undefined {
  return x.node.operator === transposeOperator ? (x.node.attributes.order as readonly number[]) : undefined;
}

const concatOperator: Operator = {
  name: "concat",
  infer(inputs, { axis }) {
    const [first] = inputs as [Value, ...Value[]];
    for (const input of inputs) {
      const others = (shape: Shape) => shape.filter((_, i) => i !== axis);
      if (
        input.shape.length !== first.shape.length ||
        !sameShape(others(input.shape), others(first.shape)) ||
        input.dtype !== first.dtype
      ) {
        throw new TensorError(
          "concat",
          inputs.map(({ shape }) => shape),
          `all but axis ${axis} must be equal`,
        );
      }
    }
    const dims = inputs.map((input) => input.shape[axis as number]!);
    const total: Dim = dims.every((dim) => typeof dim === "number") ? dims.reduce((a, b) => a + b, 0) : dims.join("+");
    return [{ dtype: first.dtype, shape: first.shape.map((dim, i) => (i === axis ? total : dim)) }];
  },
  derivative: (node, [g]) => splitLike(g!, node.inputs, node.attributes.axis as number),
  emit(node, emitter) {
    emitter.node("Concat", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {
      axis: { int: Number(node.attributes.axis) },
    });
  },
};

/** Joins along an axis; symbolic sizes add up to a symbol such as "T+S". */
export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values as [Value, ...Value[]];
  return values.length === 1
    ? first
    : first.graph.apply(concatOperator, values, { axis: normalAxis("concat", first.shape, axis) })[0]!;
}

const splitLikeOperator: Operator = {
  name: "splitLike",
  infer([x, ...likes], { axis }) {
    const dims = likes.map((like) => like.shape[axis as number]!);
    const total: Dim = dims.every((dim) => typeof dim === "number") ? dims.reduce((a, b) => a + b, 0) : dims.join("+");
    if (x!.shape[axis as number] !== total) {
      throw new TensorError(
        "splitLike",
        [x!.shape, ...likes.map((like) => like.shape)],
        `axis ${axis} must add up to ${x!.shape[axis as number]}`,
      );
    }
    return dims.map((part) => ({ dtype: x!.dtype, shape: x!.shape.map((dim, i) => (i === axis ? part : dim)) }));
  },
  derivative: (node, gradients) => {
    const parts = gradients.map((g, i) => g ?? zerosLike(node.outputs[i]!));
    return [concat(parts, node.attributes.axis as number)];
  },
  emit(node, emitter) {
    const axis = Number(node.attributes.axis);
    const likes = node.inputs.slice(1);
    const joined = emitter.once(
      `sizes ${axis} ${likes.map((like) => (typeof like.shape[axis] === "number" ? like.shape[axis] : emitter.name(like)))}`,
      (name) => {
        const sizes = likes.map((like) => axisSize(like, axis, emitter));
        emitter.node("Concat", sizes, [name], { axis: { int: 0 } });
      },
    );
    emitter.node("Split", [emitter.name(node.inputs[0]!), joined], node.outputs.map(emitter.name), {
      axis: { int: axis },
    });
  },
};

const splitOperator: Operator = {
  name: "split",
  infer([x], { axis, sizes }) {
    const parts = sizes as readonly number[];
    if (x!.shape[axis as number] !== parts.reduce((a, b) => a + b, 0)) {
      throw new TensorError(
        "split",
        [x!.shape],
        `sizes [${parts}] must add up to ${x!.shape[axis as number]} along axis ${axis}`,
      );
    }
    return parts.map((part) => ({ dtype: x!.dtype, shape: x!.shape.map((dim, i) => (i === axis ? part : dim)) }));
  },
  derivative: (node, gradients) => [
    concat(
      gradients.map((g, i) => g ?? zerosLike(node.outputs[i]!)),
      node.attributes.axis as number,
    ),
  ],
  emit(node, emitter) {
    const sizes = emitter.integers(node.attributes.sizes as readonly number[]);
    emitter.node("Split", [emitter.name(node.inputs[0]!), sizes], node.outputs.map(emitter.name), {
      axis: { int: Number(node.attributes.axis) },
    });
  },
};

/** Cuts an axis into parts of given sizes. */
export function split(x: Value, sizes: readonly number[], axis: number): readonly Value[] {
  return x.graph.apply(splitOperator, [x], { sizes: [...sizes], axis: normalAxis("split", x.shape, axis) });
}

function axisSize(like: Value, axis: number, emitter: Emitter): string {
  const dim = like.shape[axis]!;
  if (typeof dim === "number") return emitter.integers([dim]);
  const size = emitter.fresh();
  emitter.node("Shape", [emitter.name(like)], [size], { start: { int: axis }, end: { int: axis + 1 } });
  return size;
}

/** Cuts an axis into the sizes that `likes` have there; of them only the shape is used. */
export function splitLike(x: Value, likes: readonly Value[], axis: number): readonly Value[] {
  return x.graph.apply(splitLikeOperator, [x, ...likes], { axis: normalAxis("splitLike", x.shape, axis) });
}

const zerosLikeOperator: Operator = {
  name: "zerosLike",
  infer: ([x]) => [{ dtype: "float32", shape: x!.shape }],
  derivative: () => [undefined],
  emit(node: Node, emitter: Emitter) {
    const shape = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[0]!)], [shape]);
    emitter.node("ConstantOfShape", [shape], [emitter.name(node.outputs[0]!)]);
  },
};

/** Zeros in the shape of a value. */
export function zerosLike(like: Value): Value {
  return like.graph.apply(zerosLikeOperator, [like])[0]!;
}
