import type { Operator, Value } from "../graph.ts";
import { TensorError } from "../shape.ts";
import { exp, mul, sub } from "./elementwise.ts";
import { cheaperRowSumFactors } from "./matmul.ts";
import { sumKeep } from "./sum.ts";

function overLastAxis(name: string, onnx: string, derivative: (y: Value, g: Value) => Value): Operator {
  return {
    name,
    infer([x]) {
      if (x.shape.length === 0 || x.dtype !== "float32")
        throw new TensorError(name, [x.shape], "takes float32 with one axis or more");
      return [{ dtype: "float32", shape: x.shape }];
    },
    derivative: (node, [g]) => [derivative(node.outputs[0], g!)],
    emit: (node, emitter) =>
      emitter.node(onnx, node.inputs.map(emitter.name), node.outputs.map(emitter.name), { axis: { int: -1 } }),
  };
}

const softmaxOperator = overLastAxis("softmax", "Softmax", (y, g) => {
  const [left, right] = cheaperRowSumFactors(g, y) ?? [g, y];
  return mul(y, sub(g, sumKeep(mul(left, right), [-1])));
});

const logSoftmaxOperator = overLastAxis("logSoftmax", "LogSoftmax", (y, g) => sub(g, mul(exp(y), sumKeep(g, [-1]))));

/** Over the last axis. */
export function softmax(x: Value): Value {
  return x.graph.apply(softmaxOperator, [x])[0];
}

/** Over the last axis. */
export function logSoftmax(x: Value): Value {
  return x.graph.apply(logSoftmaxOperator, [x])[0];
}
