import type { Operator, Value } from "../graph.ts";
import { sameShape, TensorError } from "../shape.ts";
import { neg } from "./elementwise.ts";

const rotaryOperator: Operator = {
  name: "rotary",
  infer([x, positions, cos, sin]) {
    const shapes = [x, positions, cos, sin].map((value) => value.shape);
    const half = cos.shape[1];
    const width = x.shape.at(-1);
    const isHeads = x.shape.length === 4;
    if (
      (x.shape.length !== 3 && !isHeads) ||
      typeof half !== "number" ||
      (isHeads ? width !== 2 * half : Number(width) % (2 * half) !== 0)
    ) {
      throw new TensorError(
        "rotary",
        shapes,
        "takes [batch, length, heads·headWidth] or [batch, heads, length, headWidth] and tables [positions, headWidth/2]",
      );
    }
    const rows = isHeads ? [x.shape[0], x.shape[2]] : x.shape.slice(0, 2);
    if (positions.dtype !== "int64" || !sameShape(positions.shape, rows) || !sameShape(cos.shape, sin.shape)) {
      throw new TensorError("rotary", shapes, "needs int64 positions [batch, length] and two tables of one shape");
    }
    return [{ dtype: "float32", shape: x.shape }];
  },
  // a rotation's derivative is the rotation back
  derivative(node, [g]) {
    const [, positions, cos, sin] = node.inputs as [Value, Value, Value, Value];
    return [rotary(g!, positions, cos, neg(sin)), undefined, undefined, undefined];
  },
  emit: (node, emitter) =>
    emitter.node("RotaryEmbedding", node.inputs.map(emitter.name), node.outputs.map(emitter.name), {}, "com.microsoft"),
};

/**
 * Rotary position embedding, halves paired as in Llama and Qwen: element i of a head turns with element i + headWidth/2.
 * `cos` and `sin` are tables of constants; they get no gradient.
 */
export function rotary(x: Value, positions: Value, cos: Value, sin: Value): Value {
  return x.graph.apply(rotaryOperator, [x, positions, cos, sin])[0];
}
