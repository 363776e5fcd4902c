import type { Emitter, Operator, Value } from "../graph.ts";
import { type Shape, TensorError } from "../shape.ts";

// Rows of different lengths one behind the other, `[N, width]`, and side by side, padded with zeros, `[B, S, width]`. Two tables of row
// numbers say what is where: `places`, `[B, S]`, with N for padding, and `back`, `[N]`, into B·S rows. Each is the other's inverse, so
// that one direction is the derivative of the other and nothing has to be added up.

function checkTables(name: string, shapes: readonly Shape[], [places, back]: readonly [Value, Value]): void {
  if (places.dtype !== "int64" || back.dtype !== "int64" || places.shape.length !== 2 || back.shape.length !== 1)
    throw new TensorError(name, shapes, "needs two int64 tables, places [B, S] and back [N]");
}

const padRowsOperator: Operator = {
  name: "padRows",
  infer([x, places, back]) {
    const shapes = [x, places, back].map(({ shape }) => shape);
    checkTables("padRows", shapes, [places as Value, back as Value]);
    const [rows, width] = x.shape;
    if (x.dtype !== "float32" || x.shape.length !== 2 || typeof width !== "number" || rows !== back.shape[0])
      throw new TensorError("padRows", shapes, "takes float32 [N, width], width being a number");
    return [{ dtype: "float32", shape: [...places.shape, width] }];
  },
  derivative: (node, [g]) => [unpadRows(g!, node.inputs[1], node.inputs[2]), undefined, undefined],
  emit(node, emitter) {
    const [x, places] = node.inputs as [Value, Value, Value];
    const joined = emitter.fresh();
    emitter.node("Concat", [emitter.name(x), zeroRow(emitter, Number(x.shape[1]))], [joined], { axis: { int: 0 } });
    emitter.node("Gather", [joined, emitter.name(places)], [emitter.name(node.outputs[0])], { axis: { int: 0 } });
  },
};

function zeroRow(emitter: Emitter, width: number): string {
  return emitter.once(`zero row ${width}`, (name) => {
    emitter.node("ConstantOfShape", [emitter.integers([1, width])], [name]);
  });
}

const unpadRowsOperator: Operator = {
  name: "unpadRows",
  infer([x, places, back]) {
    const shapes = [x, places, back].map(({ shape }) => shape);
    checkTables("unpadRows", shapes, [places as Value, back as Value]);
    const [rows, length, width] = x.shape;
    const [placeRows, placeLength] = places.shape;
    if (x.dtype !== "float32" || x.shape.length !== 3 || typeof width !== "number")
      throw new TensorError("unpadRows", shapes, "takes float32 [B, S, width], width being a number");
    if (rows !== placeRows || length !== placeLength)
      throw new TensorError("unpadRows", shapes, "needs as many places as there are rows");
    return [{ dtype: "float32", shape: [back.shape[0], width] }];
  },
  derivative: (node, [g]) => [padRows(g!, node.inputs[1], node.inputs[2]), undefined, undefined],
  emit(node, emitter) {
    const [x, , back] = node.inputs as [Value, Value, Value];
    const flat = emitter.fresh();
    emitter.node("Reshape", [emitter.name(x), emitter.integers([-1, Number(x.shape[2])])], [flat]);
    emitter.node("Gather", [flat, emitter.name(back)], [emitter.name(node.outputs[0])], { axis: { int: 0 } });
  },
};

/** `[N, width]` to `[B, S, width]`: rows to their places, zeros elsewhere. */
export function padRows(x: Value, places: Value, back: Value): Value {
  return x.graph.apply(padRowsOperator, [x, places, back])[0];
}

/** `[B, S, width]` to `[N, width]`: what is at the places, without the padding. */
export function unpadRows(x: Value, places: Value, back: Value): Value {
  return x.graph.apply(unpadRowsOperator, [x, places, back])[0];
}
