import type { Operator, Value } from "../graph.ts";
import { broadcast, normalAxis, type Shape, sameShape, TensorError } from "../shape.ts";
import { expandLike } from "./expand-like.ts";
import { reshape } from "./layout.ts";
import { placedUpdates } from "./place.ts";

const sumOperator: Operator = {
  name: "sum",
  infer([x], { axes }) {
    if (x.dtype !== "float32") throw new TensorError("sum", [x.shape], "takes float32 values");
    const shape = x.shape.map((dim, axis) => ((axes as readonly number[]).includes(axis) ? 1 : dim));
    return [{ dtype: "float32", shape }];
  },
  derivative: (node, [g]) => [expandLike(g!, node.inputs[0])],
  emit(node, emitter) {
    const axes = emitter.integers(node.attributes.axes as readonly number[]);
    emitter.node("ReduceSum", [emitter.name(node.inputs[0]), axes], [emitter.name(node.outputs[0])], {
      keepdims: { int: 1 },
    });
  },
};

/** Sum over axes, which stay with size 1. */
export function sumKeep(x: Value, axes: readonly number[]): Value {
  const normal = [...new Set(axes.map((axis) => normalAxis("sum", x.shape, axis)))].sort((a, b) => a - b);
  const summed = normal.filter((axis) => x.shape[axis] !== 1);
  const placed = placedUpdates(x);
  if (placed !== undefined && summed.length === 1 && summed[0] === x.shape.length - 1) return sumKeep(placed, [-1]);
  return summed.length === 0 ? x : x.graph.apply(sumOperator, [x], { axes: summed })[0];
}

/** Sum over axes, which go away. */
export function sum(x: Value, axes: readonly number[]): Value {
  const gone = new Set(axes.map((axis) => normalAxis("sum", x.shape, axis)));
  return reshape(
    sumKeep(x, axes),
    x.shape.filter((_, axis) => !gone.has(axis)),
  );
}

/** Undoes broadcasting: sums a gradient over the axes along which its value was repeated. */
export function sumTo(x: Value, shape: Shape): Value {
  if (sameShape(x.shape, shape)) return x;
  if (!sameShape(broadcast("sumTo", x.shape, shape), x.shape))
    throw new TensorError("sumTo", [x.shape, shape], "the second must broadcast to the first");
  const extra = x.shape.length - shape.length;
  const axes = x.shape.flatMap((dim, axis) => (axis < extra || (shape[axis - extra] === 1 && dim !== 1) ? [axis] : []));
  return reshape(sumKeep(x, axes), shape);
}
