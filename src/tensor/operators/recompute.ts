import { accumulateGradients } from "../differentiate.ts";
import type { Operator, Value } from "../graph.ts";
import { TensorError } from "../shape.ts";

const segments = new WeakMap<Value, (inputs: readonly Value[]) => Value>();

// Passes the last input through; the others are there so that gradients find their way around it.
const recomputeOperator: Operator = {
  name: "recompute",
  infer(inputs) {
    const output = inputs.at(-1)!;
    if (output.dtype !== "float32") {
      const shapes = inputs.map((input) => input.shape);
      throw new TensorError("recompute", shapes, "the segment must give a float32 value");
    }
    return [{ dtype: "float32", shape: output.shape }];
  },
  derivative(node, [g], { accumulate, wanted }) {
    const inputs = node.inputs.slice(0, -1);
    const again = inputs.map((input) => (input.dtype === "float32" ? after(input, g!) : input));
    const output = segments.get(node.outputs[0])!(again);
    const gradients = accumulateGradients([{ value: output, gradient: g! }], new Set([...wanted, ...again]));
    for (const value of wanted) {
      const gradient = gradients.get(value);
      if (gradient !== undefined && !again.includes(value)) accumulate(value, gradient);
    }
    return [...again.map((value) => gradients.get(value)), undefined];
  },
  emit: (node, emitter) =>
    emitter.node("Identity", [emitter.name(node.inputs.at(-1)!)], [emitter.name(node.outputs[0])]),
};

/**
 * Computes a segment now and once more in the backward pass, so that nothing inside it has to be kept in between: memory for
 * time. The segment may use other values of the graph (weights) as they are.
 */
export function recompute(inputs: readonly Value[], segment: (inputs: readonly Value[]) => Value): Value {
  const output = segment(inputs);
  const passed = output.graph.apply(recomputeOperator, [...inputs, output])[0];
  segments.set(passed, segment);
  return passed;
}

// x times a one that is known only once `cue` is: neither our own nor ONNX Runtime's search for common subexpressions can
// merge the second computation with the first, and it cannot start early.
const afterOperator: Operator = {
  name: "after",
  infer([x, cue]) {
    for (const { dtype } of [x, cue])
      if (dtype !== "float32") throw new TensorError("after", [x.shape, cue.shape], "takes float32 values");
    return [{ dtype: "float32", shape: x.shape }];
  },
  derivative: (_, [g]) => [g, undefined],
  emit(node, emitter) {
    const [flat, first, zero, one] = [emitter.fresh(), emitter.fresh(), emitter.fresh(), emitter.fresh()];
    emitter.node("Reshape", [emitter.name(node.inputs[1]), emitter.integers([-1])], [flat]);
    emitter.node("Gather", [flat, emitter.integers([0], true)], [first]);
    emitter.node("Mul", [first, emitter.float(0)], [zero]);
    emitter.node("Add", [zero, emitter.float(1)], [one]);
    emitter.node("Mul", [emitter.name(node.inputs[0]), one], [emitter.name(node.outputs[0])]);
  },
};

/** `x`, but not before `cue` has been computed. */
export function after(x: Value, cue: Value): Value {
  return x.graph.apply(afterOperator, [x, cue])[0];
}
