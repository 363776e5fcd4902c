import { type Emitter, isInput, type Node, type Operator, type Value } from "../graph.ts";
import { sameShape, TensorError } from "../shape.ts";
import { mul, sub } from "./elementwise.ts";
import { sumKeep, sumTo } from "./sum.ts";

const rmsNormOperator: Operator = {
  name: "rmsNorm",
  infer([x, weight]) {
    const width = x.shape.at(-1);
    if (weight.shape.length !== 1 || weight.shape[0] !== width) {
      throw new TensorError(
        "rmsNorm",
        [x.shape, weight.shape],
        `the weight must have the last axis of the input, [${width}]`,
      );
    }
    if (typeof width !== "number")
      throw new TensorError("rmsNorm", [x.shape, weight.shape], "the last axis must be a number");
    return [
      { dtype: "float32", shape: x.shape },
      { dtype: "float32", shape: [...x.shape.slice(0, -1), 1] },
    ];
  },
  derivative(node, [g]) {
    const [x, weight] = node.inputs as [Value, Value];
    const inverse = node.outputs[1];
    const normal = mul(x, inverse);
    const weighted = mul(g!, weight);
    const mean = mul(sumKeep(mul(weighted, normal), [-1]), g!.graph.constant(1 / Number(x.shape.at(-1))));
    return [mul(inverse, sub(weighted, mul(normal, mean))), sumTo(mul(g!, normal), weight.shape)];
  },
  emit(node, emitter) {
    emitter.node("SimplifiedLayerNormalization", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {
      axis: { int: -1 },
      epsilon: { float: Number(node.attributes.epsilon) },
      stash_type: { int: 1 },
    });
  },
};

/** The normalisation of a sum, where the sum is read by one; ONNX Runtime does both in one pass over the row. */
export function normOfSum(add: Node, emitter: Emitter): boolean {
  const [a, b] = add.inputs as [Value, Value];
  const total = add.outputs[0];
  const norm = emitter
    .readers(total)
    .find(({ operator, inputs }) => operator === rmsNormOperator && inputs[0] === total);
  if (norm === undefined || !sameShape(a.shape, b.shape) || a.shape.length < 2 || a.shape.length > 3) return false;
  const [, weight] = norm.inputs as [Value, Value];
  if (!isInput(weight)) return false; // it might not be written yet
  const [, inverse] = norm.outputs as [Value, Value];
  if (emitter.readers(inverse).length > 0 || emitter.isOutput(inverse)) return false; // the fused one does not give it
  const outputs = [emitter.name(norm.outputs[0]), "", "", emitter.name(total)];
  const inputs = [a, b, weight].map(emitter.name);
  emitter.node(
    "SkipSimplifiedLayerNormalization",
    inputs,
    outputs,
    { epsilon: { float: Number(norm.attributes.epsilon) } },
    "com.microsoft",
  );
  emitter.fused(norm);
  return true;
}

/** x / sqrt(mean(x²) + epsilon) · weight, over the last axis. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  return x.graph.apply(rmsNormOperator, [x, weight], { epsilon })[0];
}
