import { constantOf, type Emitter, isInput, type Node, type Operator, type Value } from "../graph.ts";
import { broadcast, product, sameShape, TensorError } from "../shape.ts";
import { reshape, transpose, transposeOrder } from "./layout.ts";
import { sumTo } from "./sum.ts";

export interface MatmulOptions {
  /** Use `a` or `b` with its last two axes exchanged; costs nothing, but for a batched `a` times a single matrix. */
  transposeA?: boolean;
  transposeB?: boolean;
  /** Factor on the product; costs nothing. */
  scale?: number;
}

const matmulOperator: Operator = {
  name: "matmul",
  infer([a, b], { transposeA, transposeB }) {
    const fail = (rule: string) =>
      new TensorError(matmulName(transposeA === true, transposeB === true), [a.shape, b.shape], rule);
    if (a.shape.length < 2 || b.shape.length < 2) throw fail("both must have two axes or more");
    if (a.dtype !== "float32" || b.dtype !== "float32") throw fail("takes float32 values");
    const [m, k] = lastTwo(a, transposeA === true);
    const [k2, n] = lastTwo(b, transposeB === true);
    if (k !== k2) throw fail(`inner dimensions ${k} and ${k2} must be equal`);
    const batch = broadcast("matmul", a.shape.slice(0, -2), b.shape.slice(0, -2));
    return [{ dtype: "float32", shape: [...batch, m, n] }];
  },
  derivative(node, [g]) {
    const [a, b] = node.inputs as [Value, Value];
    const { transposeA: ta, transposeB: tb, scale } = node.attributes as Required<MatmulOptions>;
    const da = ta
      ? matmul(b, g!, { transposeA: tb, transposeB: true, scale })
      : matmul(g!, b, { transposeB: !tb, scale });
    if (a.shape.length > 2 && b.shape.length === 2) return [da, matrixGradient(a, b, g!, tb, scale)];
    const db = tb
      ? matmul(g!, a, { transposeA: true, transposeB: ta, scale })
      : matmul(a, g!, { transposeA: !ta, scale });
    return [sumTo(da, a.shape), sumTo(db, b.shape)];
  },
  emit(node, emitter) {
    if (biasedSum(node, emitter) !== undefined) return; // written together with the bias
    const { transposeA, transposeB, scale } = node.attributes as Required<MatmulOptions>;
    const isPlain = !transposeA && !transposeB && scale === 1;
    emitter.node(
      isPlain ? "MatMul" : "FusedMatMul",
      node.inputs.map(emitter.name),
      node.outputs.map(emitter.name),
      isPlain
        ? {}
        : { transA: { int: Number(transposeA) }, transB: { int: Number(transposeB) }, alpha: { float: scale } },
      isPlain ? "" : "com.microsoft",
    );
  },
};

/** The sum that adds a bias to a product of two matrices and is all that reads it. */
function biasedSum(product: Node, emitter: Emitter): Node | undefined {
  const value = product.outputs[0];
  const [reader, ...others] = emitter.readers(value);
  if (value.shape.length !== 2 || reader?.operator.name !== "add" || others.length > 0 || emitter.isOutput(value))
    return undefined;
  const bias = reader.inputs.find((input) => input !== value);
  return bias?.shape.length === 1 && bias.shape[0] === value.shape[1] && isInput(bias) ? reader : undefined;
}

/** Writes product and bias as one Gemm, from the sum. */
export function productWithBias(add: Node, emitter: Emitter): boolean {
  const value = add.inputs.find(
    (input) => input.node.operator === matmulOperator && biasedSum(input.node, emitter) === add,
  );
  if (value === undefined) return false;
  const { transposeA, transposeB, scale } = value.node.attributes as Required<MatmulOptions>;
  const bias = add.inputs.find((input) => input !== value)!;
  emitter.node("Gemm", [...value.node.inputs, bias].map(emitter.name), add.outputs.map(emitter.name), {
    transA: { int: Number(transposeA) },
    transB: { int: Number(transposeB) },
    alpha: { float: scale },
  });
  return true;
}

function matmulName(ta: boolean, tb: boolean): string {
  return `matmul${ta ? " Aᵀ" : ""}${tb ? " Bᵀ" : ""}`;
}

function lastTwo(value: Value, isTransposed: boolean) {
  const [rows, columns] = value.shape.slice(-2) as [string | number, string | number];
  return isTransposed ? ([columns, rows] as const) : ([rows, columns] as const);
}

/** Gradient of a weight used on a batch: one large product over all rows instead of one per batch entry and a sum. */
function matrixGradient(a: Value, b: Value, g: Value, isTransposedB: boolean, scale: number): Value {
  const rows = product(a.shape.slice(0, -1));
  const flatA = reshape(a, [rows, a.shape.at(-1)!]);
  const flatG = reshape(g, [rows, g.shape.at(-1)!]);
  const gradient = isTransposedB
    ? matmul(flatG, flatA, { transposeA: true, scale })
    : matmul(flatA, flatG, { transposeA: true, scale });
  return reshape(gradient, b.shape);
}

/** Does a value only exchange the last two axes of another? Then the product can do that itself. */
function untransposed(value: Value): Value | undefined {
  const order = transposeOrder(value);
  if (order === undefined) return undefined;
  const swapped = lastTwoSwapped(order.length);
  return order.every((axis, i) => axis === swapped[i]) ? value.node.inputs[0] : undefined;
}

function lastTwoSwapped(rank: number): number[] {
  return [...Array.from({ length: rank - 2 }, (_, axis) => axis), rank - 1, rank - 2];
}

/** Matrix product over the last two axes; leading axes are batch axes. */
export function matmul(a: Value, b: Value, options: MatmulOptions = {}): Value {
  const { transposeA = false, transposeB = false, scale = 1 } = options;
  // ONNX Runtime multiplies a batch by one matrix in a single product of all rows, which cannot take a transposed batch
  const isBatchByMatrix = a.shape.length > 2 && b.shape.length === 2;
  if (isBatchByMatrix && transposeA)
    return matmul(transpose(a, lastTwoSwapped(a.shape.length)), b, { transposeB, scale });
  const innerA = isBatchByMatrix ? undefined : untransposed(a);
  if (innerA !== undefined) return matmul(innerA, b, { transposeA: !transposeA, transposeB, scale });
  const innerB = untransposed(b);
  if (innerB !== undefined) return matmul(a, innerB, { transposeA, transposeB: !transposeB, scale });
  return a.graph.apply(matmulOperator, [a, b], { transposeA, transposeB, scale })[0];
}

/**
 * The row sums of g∘y where g = A·Cᵀ. They equal the row sums of A∘(y·C), and where y·C is in the graph already, as it is in
 * attention, that replaces two passes over a T×T matrix by two over a T×headWidth one.
 */
export function cheaperRowSumFactors(g: Value, y: Value): readonly [Value, Value] | undefined {
  if (g.node.operator !== matmulOperator) return undefined;
  const { transposeA, transposeB, scale } = g.node.attributes as Required<MatmulOptions>;
  const [a, c] = g.node.inputs as [Value, Value];
  if (transposeA || !transposeB || scale !== 1 || constantOf(a) !== undefined) return undefined;
  const product = g.graph.find(matmulOperator, [y, c], { transposeA: false, transposeB: false, scale: 1 })?.[0];
  return product !== undefined && sameShape(product.shape, a.shape) ? [a, product] : undefined;
}
