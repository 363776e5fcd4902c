import type { Operator, Value } from "../graph.ts";
import { broadcast, sameShape, TensorError } from "../shape.ts";
import { sumTo } from "./sum.ts";

const expandLikeOperator: Operator = {
  name: "expandLike",
  infer([x, like]) {
    if (!sameShape(broadcast("expandLike", x.shape, like.shape), like.shape)) {
      throw new TensorError("expandLike", [x.shape, like.shape], "the first must broadcast to the second");
    }
    return [{ dtype: x.dtype, shape: like.shape }];
  },
  derivative: (node, [g]) => [sumTo(g!, node.inputs[0].shape), undefined],
  emit(node, emitter) {
    const shape = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[1])], [shape]);
    emitter.node("Expand", [emitter.name(node.inputs[0]), shape], [emitter.name(node.outputs[0])]);
  },
};

/** Repeats `x` to the shape of `like`; of `like` only the shape is used. */
export function expandLike(x: Value, like: Value): Value {
  if (sameShape(x.shape, like.shape)) return x;
  return x.graph.apply(expandLikeOperator, [x, like])[0];
}
