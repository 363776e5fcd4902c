import { type Operator, type Value } from "../graph.ts";
import { TensorError } from "../shape.ts";
import { mul, sub } from "./elementwise.ts";
import { sumKeep, sumTo } from "./sum.ts";

const rmsNormOperator: Operator = {
  name: "rmsNorm",
  infer([x, weight]) {
    const width = x!.shape.at(-1);
    if (weight!.shape.length !== 1 || weight!.shape[0] !== width) {
      throw new TensorError("rmsNorm", [x!.shape, weight!.shape], `the weight must have the last axis of the input, [${width}]`);
    }
    return [
      { dtype: "float32", shape: x!.shape },
      { dtype: "float32", shape: [...x!.shape.slice(0, -1), 1] },
    ];
  },
  derivative(node, [g]) {
    const [x, weight] = node.inputs as [Value, Value];
    const inverse = node.outputs[1]!;
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

/** x / sqrt(mean(x²) + epsilon) · weight, over the last axis. */
export function rmsNorm(x: Value, weight: Value, epsilon: number): Value {
  return x.graph.apply(rmsNormOperator, [x, weight], { epsilon })[0]!;
}
