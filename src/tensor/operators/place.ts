import type { Operator, Value } from "../graph.ts";
import { sameShape, TensorError } from "../shape.ts";
import { zerosLike } from "./layout.ts";

// One chosen element per row. The index has a last axis of K; along it each row of x is read or added to.

const pickOperator: Operator = {
  name: "pick",
  infer([x, index]) {
    checkRows("pick", x, index);
    return [{ dtype: "float32", shape: index.shape }];
  },
  derivative: (node, [g]) => [placeAdd(zerosLike(node.inputs[0]), node.inputs[1], g!), undefined],
  emit: (node, emitter) =>
    emitter.node("GatherElements", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {
      axis: { int: -1 },
    }),
};

// ScatterElements is right and repeatable with duplicate indices in ONNX Runtime 1.30; ScatterND with add races
const placeAddOperator: Operator = {
  name: "placeAdd",
  infer([x, index, updates]) {
    checkRows("placeAdd", x, index);
    if (!sameShape(index.shape, updates.shape))
      throw new TensorError("placeAdd", [index.shape, updates.shape], "index and updates must have one shape");
    return [{ dtype: "float32", shape: x.shape }];
  },
  derivative: (node, [g]) => [g, undefined, pick(g!, node.inputs[1])],
  emit(node, emitter) {
    emitter.node("ScatterElements", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {
      axis: { int: -1 },
      reduction: { string: "add" },
    });
  },
};

function checkRows(name: string, x: Value, index: Value): void {
  if (index.dtype !== "int64") throw new TensorError(name, [x.shape, index.shape], "the index must be int64");
  if (!sameShape(x.shape.slice(0, -1), index.shape.slice(0, -1))) {
    throw new TensorError(name, [x.shape, index.shape], "all axes but the last must be equal");
  }
}

/** Element `index[..., k]` of each last-axis row. */
export function pick(x: Value, index: Value): Value {
  return x.graph.apply(pickOperator, [x, index])[0];
}

/** `x` with updates added at `index` of each last-axis row; equal indices add up. */
export function placeAdd(x: Value, index: Value, updates: Value): Value {
  return x.graph.apply(placeAddOperator, [x, index, updates])[0];
}

/** a + b where a is zero but for placed updates: they are placed into b, without the pass over the zeros. */
export function placeSum(a: Value, b: Value | (() => Value)): Value | undefined {
  if (a.node.operator !== placeAddOperator) return undefined;
  const [base, index, updates] = a.node.inputs as [Value, Value, Value];
  if (base.node.operator.name !== "zerosLike") return undefined;
  const other = typeof b === "function" ? b() : b;
  return sameShape(other.shape, a.shape) ? placeAdd(other, index, updates) : undefined;
}

/** The placed updates, where a value is nothing but them: their sum along the row is the row's sum. */
export function placedUpdates(x: Value): Value | undefined {
  if (x.node.operator !== placeAddOperator) return undefined;
  const [base, , updates] = x.node.inputs as [Value, Value, Value];
  return base.node.operator.name === "zerosLike" ? updates : undefined;
}
