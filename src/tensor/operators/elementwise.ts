import { constantOf, type Node, type Operator, type Value } from "../graph.ts";
import { broadcast, sameShape, TensorError } from "../shape.ts";
import { productWithBias } from "./matmul.ts";
import { placeSum } from "./place.ts";
import { normOfSum } from "./rms-norm.ts";
import { sumTo } from "./sum.ts";

type BinaryGradient = (node: Node, gradient: Value) => readonly [Value, Value];
type UnaryGradient = (node: Node, gradient: Value) => Value;

function binary(name: string, onnx: string, gradient: BinaryGradient): Operator {
  return {
    name,
    infer([a, b]) {
      for (const input of [a, b]) {
        if (input.dtype !== "float32") throw new TensorError(name, [a.shape, b.shape], "takes float32 values");
      }
      return [{ dtype: "float32", shape: broadcast(name, a.shape, b.shape) }];
    },
    derivative(node, [g]) {
      const [a, b] = node.inputs as [Value, Value];
      const [da, db] = gradient(node, g!);
      return [sumTo(da, a.shape), sumTo(db, b.shape)];
    },
    emit: (node, emitter) => emitter.node(onnx, node.inputs.map(emitter.name), node.outputs.map(emitter.name)),
  };
}

function unary(name: string, onnx: string, gradient: UnaryGradient): Operator {
  return {
    name,
    infer([x]) {
      if (x.dtype !== "float32") throw new TensorError(name, [x.shape], "takes float32 values");
      return [{ dtype: "float32", shape: x.shape }];
    },
    derivative: (node, [g]) => [gradient(node, g!)],
    emit: (node, emitter) => emitter.node(onnx, node.inputs.map(emitter.name), node.outputs.map(emitter.name)),
  };
}

const plainAdd = binary("add", "Add", (_, g) => [g, g]);
const addOperator: Operator = {
  ...plainAdd,
  emit(node, emitter) {
    if (!normOfSum(node, emitter) && !productWithBias(node, emitter)) plainAdd.emit(node, emitter);
  },
};
const subOperator = binary("sub", "Sub", (_, g) => [g, neg(g)]);
const mulOperator = binary("mul", "Mul", (node, g) => [mul(g, node.inputs[1]), mul(g, node.inputs[0])]);
const divOperator = binary("div", "Div", (node, g) => {
  const perDivisor = div(g, node.inputs[1]);
  return [perDivisor, neg(mul(perDivisor, node.outputs[0]))];
});
const negOperator = unary("neg", "Neg", (_, g) => neg(g));
const expOperator = unary("exp", "Exp", (node, g) => mul(g, node.outputs[0]));
const logOperator = unary("log", "Log", (node, g) => div(g, node.inputs[0]));
const sqrtOperator = unary("sqrt", "Sqrt", (node, g) => div(g, mul(node.outputs[0], g.graph.constant(2))));
const tanhOperator = unary("tanh", "Tanh", (node, g) => {
  const y = node.outputs[0];
  return sub(g, mul(g, mul(y, y)));
});
const sigmoidOperator = unary("sigmoid", "Sigmoid", (node, g) => {
  const y = node.outputs[0];
  return mul(mul(g, y), sub(g.graph.constant(1), y));
});

// x·s with s = sigmoid(x), as one operator because its derivative s·(1 + x - y) needs two passes fewer than the chain rule
const siluOperator: Operator = {
  ...unary("silu", "", (node, g) => {
    const [x, y] = [node.inputs[0], node.outputs[0]];
    return mul(g, mul(sigmoid(x), add(sub(x, y), g.graph.constant(1))));
  }),
  emit: (node, emitter) =>
    emitter.node(
      "QuickGelu",
      node.inputs.map(emitter.name),
      node.outputs.map(emitter.name),
      { alpha: { float: 1 } },
      "com.microsoft",
    ),
};

function fold(a: Value, b: Value, compute: (x: number, y: number) => number): Value | undefined {
  const [x, y] = [constantOf(a), constantOf(b)];
  return x === undefined || y === undefined ? undefined : a.graph.constant(compute(x, y));
}

/** `value` where broadcasting against `other` would not change its shape. */
function unchanged(value: Value, other: Value): boolean {
  return sameShape(broadcast("add", value.shape, other.shape), value.shape);
}

export function add(a: Value, b: Value): Value {
  if (constantOf(b) === 0 && unchanged(a, b)) return a;
  if (constantOf(a) === 0 && unchanged(b, a)) return b;
  return fold(a, b, (x, y) => x + y) ?? placeSum(a, b) ?? placeSum(b, a) ?? a.graph.apply(addOperator, [a, b])[0];
}

export function sub(a: Value, b: Value): Value {
  if (constantOf(b) === 0 && unchanged(a, b)) return a;
  return fold(a, b, (x, y) => x - y) ?? placeSum(a, () => neg(b)) ?? a.graph.apply(subOperator, [a, b])[0];
}

export function mul(a: Value, b: Value): Value {
  if (constantOf(b) === 1 && unchanged(a, b)) return a;
  if (constantOf(a) === 1 && unchanged(b, a)) return b;
  return fold(a, b, (x, y) => x * y) ?? a.graph.apply(mulOperator, [a, b])[0];
}

export function div(a: Value, b: Value): Value {
  if (constantOf(b) === 1 && unchanged(a, b)) return a;
  return fold(a, b, (x, y) => x / y) ?? a.graph.apply(divOperator, [a, b])[0];
}

export function neg(x: Value): Value {
  const constant = constantOf(x);
  if (constant !== undefined) return x.graph.constant(-constant);
  if (x.node.operator === negOperator) return x.node.inputs[0];
  if (x.node.operator === mulOperator) return negProduct(x);
  return x.graph.apply(negOperator, [x])[0];
}

/** The sign goes to the smaller factor: one pass over a column instead of one over the whole product. */
function negProduct(x: Value): Value {
  const [a, b] = x.node.inputs as [Value, Value];
  if (!sameShape(b.shape, x.shape)) return mul(a, neg(b));
  if (!sameShape(a.shape, x.shape)) return mul(neg(a), b);
  return x.graph.apply(negOperator, [x])[0];
}

export function exp(x: Value): Value {
  return x.graph.apply(expOperator, [x])[0];
}

export function log(x: Value): Value {
  return x.graph.apply(logOperator, [x])[0];
}

export function sqrt(x: Value): Value {
  return x.graph.apply(sqrtOperator, [x])[0];
}

export function tanh(x: Value): Value {
  return x.graph.apply(tanhOperator, [x])[0];
}

export function sigmoid(x: Value): Value {
  return x.graph.apply(sigmoidOperator, [x])[0];
}

/** x · sigmoid(x). */
export function silu(x: Value): Value {
  return x.graph.apply(siluOperator, [x])[0];
}
