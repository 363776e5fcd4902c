import type { Operator, Value } from "../graph.ts";
import { TensorError } from "../shape.ts";

const topOperator: Operator = {
  name: "top",
  infer([x, count]) {
    if (x.shape.length === 0 || x.dtype !== "float32" || count.shape.length !== 1) {
      const rule = "takes float32 with one axis or more, and a value whose one axis is as long as the result's";
      throw new TensorError("top", [x.shape, count.shape], rule);
    }
    const shape = [...x.shape.slice(0, -1), count.shape[0]];
    return [
      { dtype: "float32", shape },
      { dtype: "int64", shape },
    ];
  },
  emit(node, emitter) {
    const count = emitter.fresh();
    emitter.node("Shape", [emitter.name(node.inputs[1])], [count]);
    emitter.node("TopK", [emitter.name(node.inputs[0]), count], node.outputs.map(emitter.name), { axis: { int: -1 } });
  },
};

/** The largest elements of each last-axis row and where they are; as many as `like` has entries. */
export function top(x: Value, like: Value): { values: Value; index: Value } {
  const [values, index] = x.graph.apply(topOperator, [x, like]) as [Value, Value];
  return { values, index };
}
