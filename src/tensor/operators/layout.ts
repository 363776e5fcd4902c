import type { Emitter, Node, Operator, Value } from "../graph.ts";
import { type Dim, normalAxis, product, type Shape, sameShape, sumOf, TensorError } from "../shape.ts";

function parseDims(text: string): Shape {
  return text === "" ? [] : text.split(",").map((dim) => (/^\d+$/.test(dim) ? Number(dim) : dim));
}

const reshapeOperator: Operator = {
  name: "reshape",
  infer([x], { shape }) {
    const target = parseDims(String(shape));
    if (product(x.shape) !== product(target)) {
      throw new TensorError(
        "reshape",
        [x.shape, target],
        `${product(x.shape)} elements cannot become ${product(target)}`,
      );
    }
    if (!canReshape(x.shape, target)) {
      const rule = "at most one symbolic dimension may move to another axis";
      throw new TensorError("reshape", [x.shape, target], rule);
    }
    return [{ dtype: x.dtype, shape: target }];
  },
  derivative: (node, [g]) => [reshapeLike(g!, node.inputs[0])],
  emit(node, emitter) {
    const [x, y] = [node.inputs[0], node.outputs[0]];
    if (movedSymbols(x.shape, y.shape) > 1) return emitMovedOnes(x, y, emitter);
    // ONNX wants numbers: 0 copies the input's dimension at the same axis, one -1 is worked out
    const target = y.shape.map((dim, axis) => (typeof dim === "number" ? dim : dim === x.shape[axis] ? 0 : -1));
    emitter.node("Reshape", [emitter.name(x), emitter.integers(target)], [emitter.name(y)]);
  },
};

function movedSymbols(from: Shape, to: Shape): number {
  return to.filter((dim, axis) => typeof dim === "string" && dim !== from[axis]).length;
}

/** Where only axes of size 1 come and go, any number of symbols may move. */
function emitMovedOnes(x: Value, y: Value, emitter: Emitter): void {
  const ones = (shape: Shape) => shape.flatMap((dim, axis) => (dim === 1 ? [axis] : []));
  const isBoth = ones(x.shape).length > 0 && ones(y.shape).length > 0;
  const between = isBoth ? emitter.fresh() : emitter.name(ones(x.shape).length > 0 ? y : x);
  if (ones(x.shape).length > 0) emitter.node("Squeeze", [emitter.name(x), emitter.integers(ones(x.shape))], [between]);
  if (ones(y.shape).length > 0)
    emitter.node("Unsqueeze", [between, emitter.integers(ones(y.shape))], [emitter.name(y)]);
}

export function reshape(x: Value, shape: Shape): Value {
  const source = x.node.operator === reshapeOperator ? x.node.inputs[0] : x;
  if (sameShape(source.shape, shape)) return source;
  return x.graph.apply(reshapeOperator, [canReshape(source.shape, shape) ? source : x], { shape: shape.join(",") })[0];
}

function canReshape(from: Shape, to: Shape): boolean {
  const withoutOnes = (shape: Shape) => shape.filter((dim) => dim !== 1);
  return movedSymbols(from, to) <= 1 || sameShape(withoutOnes(from), withoutOnes(to));
}

const reshapeLikeOperator: Operator = {
  name: "reshapeLike",
  infer([x, like]) {
    if (product(x.shape) !== product(like.shape)) {
      throw new TensorError("reshapeLike", [x.shape, like.shape], "both must have the same number of elements");
    }
    return [{ dtype: x.dtype, shape: like.shape }];
  },
  derivative: (node, [g]) => [reshapeLike(g!, node.inputs[0]), undefined],
  emit(node, emitter) {
    const shape = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[1])], [shape]);
    emitter.node("Reshape", [emitter.name(node.inputs[0]), shape], [emitter.name(node.outputs[0])]);
  },
};

/** `x` in the shape of `like`: the way back from a flattening, which numbers alone cannot tell. */
export function reshapeLike(x: Value, like: Value): Value {
  if (canReshape(x.shape, like.shape)) return reshape(x, like.shape);
  return x.graph.apply(reshapeLikeOperator, [x, like])[0];
}

const transposeOperator: Operator = {
  name: "transpose",
  infer([x], { order }) {
    const axes = order as readonly number[];
    return [{ dtype: x.dtype, shape: axes.map((axis) => x.shape[axis]) }];
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

/** Axis `i` of the result is axis `order[i]` of `x`. */
export function transpose(x: Value, order: readonly number[]): Value {
  const axes = order.map((axis) => normalAxis("transpose", x.shape, axis));
  if (axes.length !== x.shape.length || new Set(axes).size !== axes.length) {
    throw new TensorError("transpose", [x.shape], `order [${order}] must name each of ${x.shape.length} axes once`);
  }
  const inner = transposeOrder(x);
  if (inner !== undefined)
    return transpose(
      x.node.inputs[0],
      axes.map((axis) => inner[axis]),
    );
  if (axes.every((axis, i) => axis === i)) return x;
  return x.graph.apply(transposeOperator, [x], { order: axes })[0];
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
          `all but axis ${axis} must be equal, and all of one type`,
        );
      }
    }
    const dims = inputs.map((input) => input.shape[axis as number]);
    const total = sumOf(dims);
    return [{ dtype: first.dtype, shape: first.shape.map((dim, i) => (i === axis ? total : dim)) }];
  },
  derivative: (node, [g]) => split(g!, node.inputs, node.attributes.axis as number),
  emit(node, emitter) {
    emitter.node("Concat", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {
      axis: { int: Number(node.attributes.axis) },
    });
  },
};

/** Joins along an axis; symbolic sizes add up to a symbol such as "T+S". */
export function concat(values: readonly Value[], axis: number): Value {
  const [first] = values;
  if (first === undefined) throw new TensorError("concat", [], "needs at least one value");
  return values.length === 1
    ? first
    : first.graph.apply(concatOperator, values, { axis: normalAxis("concat", first.shape, axis) })[0];
}

const splitOperator: Operator = {
  name: "split",
  infer([x, ...likes], { axis, sizes }) {
    const at = axis as number;
    const dims = partSizes(likes, sizes as readonly number[], at);
    if (x.shape[at] !== sumOf(dims)) {
      const shapes = [x.shape, ...likes.map((like) => like.shape)];
      throw new TensorError("split", shapes, `parts [${dims}] must add up to ${x.shape[at]} along axis ${at}`);
    }
    return dims.map((part) => ({ dtype: x.dtype, shape: x.shape.map((dim, i) => (i === at ? part : dim)) }));
  },
  derivative: (node, gradients) => [
    concat(
      gradients.map((g, i) => g ?? zerosLike(node.outputs[i])),
      node.attributes.axis as number,
    ),
  ],
  emit(node, emitter) {
    const axis = Number(node.attributes.axis);
    const [x, ...likes] = node.inputs as [Value, ...Value[]];
    const sizes = node.attributes.sizes as readonly number[];
    const names = partNames(likes, sizes, emitter);
    const joined = likes.every((like) => typeof like.shape[axis] === "number")
      ? emitter.integers(partSizes(likes, sizes, axis) as readonly number[])
      : emitter.once(`sizes ${axis} ${names}`, (name) => {
          let next = 0;
          const parts = sizes.map((size) =>
            size >= 0 ? emitter.integers([size]) : axisSize(likes[next++], axis, emitter),
          );
          emitter.node("Concat", parts, [name], { axis: { int: 0 } });
        });
    emitter.node("Split", [emitter.name(x), joined], node.outputs.map(emitter.name), { axis: { int: axis } });
  },
};

/** In `sizes`, -1 stands for the size the next of `likes` has along the axis. */
function partSizes(likes: readonly Value[], sizes: readonly number[], axis: number): readonly Dim[] {
  let next = 0;
  return sizes.map((size) => (size >= 0 ? size : likes[next++].shape[axis]));
}

function partNames(likes: readonly Value[], sizes: readonly number[], emitter: Emitter): string {
  let next = 0;
  return sizes.map((size) => (size >= 0 ? size : emitter.name(likes[next++]))).join();
}

function axisSize(like: Value, axis: number, emitter: Emitter): string {
  const dim = like.shape[axis];
  if (typeof dim === "number") return emitter.integers([dim]);
  const size = emitter.fresh();
  emitter.node("Shape", [emitter.name(like)], [size], { start: { int: axis }, end: { int: axis + 1 } });
  return size;
}

/** Cuts an axis into parts. A size is a number, or a value whose size along that axis is meant; only its shape is used. */
export function split(x: Value, sizes: readonly (number | Value)[], axis: number): readonly Value[] {
  const likes = sizes.filter((size) => typeof size !== "number");
  const numbers = sizes.map((size) => (typeof size === "number" ? size : -1));
  return x.graph.apply(splitOperator, [x, ...likes], { sizes: numbers, axis: normalAxis("split", x.shape, axis) });
}

const zerosLikeOperator: Operator = {
  name: "zerosLike",
  infer: ([x]) => [{ dtype: "float32", shape: x.shape }],
  derivative: () => [undefined],
  emit(node: Node, emitter: Emitter) {
    const shape = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[0])], [shape]);
    emitter.node("ConstantOfShape", [shape], [emitter.name(node.outputs[0])]);
  },
};

/** Zeros in the shape of a value. */
export function zerosLike(like: Value): Value {
  return like.graph.apply(zerosLikeOperator, [like])[0];
}
