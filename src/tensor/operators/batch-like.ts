import type { Operator, Value } from "../graph.ts";
import { product, TensorError } from "../shape.ts";
import { reshape } from "./layout.ts";
import { sumTo } from "./sum.ts";

const unflattenLikeOperator: Operator = {
  name: "unflattenLike",
  infer([x, like]) {
    const [one, rows, ...rest] = x.shape;
    if (x.shape.length < 3 || like.shape.length !== 2 || one !== 1 || rows !== product(like.shape)) {
      const rule = "the first must be [1, rows, …] with as many rows as the second, a matrix, has elements";
      throw new TensorError("unflattenLike", [x.shape, like.shape], rule);
    }
    if (rest.some((dim) => typeof dim !== "number"))
      throw new TensorError("unflattenLike", [x.shape, like.shape], "what follows the rows must be numbers");
    return [{ dtype: x.dtype, shape: [...like.shape, ...rest] }];
  },
  derivative: (node, [g]) => [reshape(g!, node.inputs[0].shape), undefined],
  emit(node, emitter) {
    const [x, like] = node.inputs as [Value, Value];
    const rest = x.shape.slice(2) as readonly number[];
    const shape = emitter.once(`unflatten ${emitter.name(like)} ${rest}`, (name) => {
      const rows = emitter.fresh();
      emitter.node("Shape", [emitter.name(like)], [rows]);
      emitter.node("Concat", [rows, emitter.integers(rest)], [name], { axis: { int: 0 } });
    });
    emitter.node("Reshape", [emitter.name(x), shape], [emitter.name(node.outputs[0])]);
  },
};

/** `[1, B·S, …]` to `[B, S, …]`, where `like` is `[B, S]`; only its shape is used. */
export function unflattenLike(x: Value, like: Value): Value {
  return x.graph.apply(unflattenLikeOperator, [x, like])[0];
}

const repeatLikeOperator: Operator = {
  name: "repeatLike",
  infer([x, like]) {
    if (x.shape[0] !== 1 || like.shape.length === 0)
      throw new TensorError("repeatLike", [x.shape, like.shape], "the first must have one row, the second rows");
    return [{ dtype: x.dtype, shape: [like.shape[0], ...x.shape.slice(1)] }];
  },
  derivative: (node, [g]) => [sumTo(g!, node.inputs[0].shape), undefined],
  emit(node, emitter) {
    const [x, like] = node.inputs as [Value, Value];
    const ones = x.shape.slice(1).map(() => 1);
    const shape = emitter.once(`repeat ${emitter.name(like)} ${ones.length}`, (name) => {
      const rows = emitter.fresh();
      emitter.node("Shape", [emitter.name(like)], [rows], { start: { int: 0 }, end: { int: 1 } });
      emitter.node("Concat", [rows, emitter.integers(ones)], [name], { axis: { int: 0 } });
    });
    emitter.node("Expand", [emitter.name(x), shape], [emitter.name(node.outputs[0])]);
  },
};

/** One row as many times as `like` has rows; only its shape is used. */
export function repeatLike(x: Value, like: Value): Value {
  return x.graph.apply(repeatLikeOperator, [x, like])[0];
}
