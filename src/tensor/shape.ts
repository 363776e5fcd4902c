/**
 * A dimension is a number, a symbol ("B"), or products and sums of both ("2*B*T", "T+1"), so one graph serves every batch
 * size and length.
 * Two dimensions are equal when they are written the same; products are kept sorted so that they are.
 */
export type Dim = number | string;
export type Shape = readonly Dim[];
export type DType = "float32" | "int64";

/** Thrown while a graph is being built: which operator, which shapes, which rule. */
export class TensorError extends Error {
  override readonly name = "TensorError";

  constructor(operator: string, shapes: readonly Shape[], rule: string) {
    super(`${operator}(${shapes.map(formatShape).join(", ")}): ${rule}`);
  }
}

export function formatShape(shape: Shape): string {
  return `[${shape.join(", ")}]`;
}

export function sameShape(a: Shape, b: Shape): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}

/** Cuts a dimension at a sign that stands outside of parentheses. */
function cut(dim: Dim, sign: "+" | "*"): string[] {
  const parts = [""];
  let depth = 0;
  for (const character of String(dim)) {
    if (character === "(") depth++;
    if (character === ")") depth--;
    if (character === sign && depth === 0) parts.push("");
    else parts.push(parts.pop() + character);
  }
  return parts;
}

/** The product of dimensions, as one dimension: "6*B*(T+1)" of 2, "T+1" and "3*B". */
export function product(dims: Shape): Dim {
  const isSum = (dim: Dim) => cut(dim, "+").length > 1;
  const [only = 1, ...others] = dims.filter((dim) => dim !== 1);
  if (others.length === 0 && isSum(only)) return only;
  let factor = 1;
  const symbols: string[] = [];
  for (const dim of dims) {
    for (const part of isSum(dim) ? [`(${dim})`] : cut(dim, "*")) {
      if (/^\d+$/.test(part)) factor *= Number(part);
      else symbols.push(part);
    }
  }
  if (symbols.length === 0) return factor;
  symbols.sort();
  return factor === 1 ? symbols.join("*") : [factor, ...symbols].join("*");
}

/** The sum of dimensions, as one dimension: "T+16" of "T", 1 and 15. */
export function sumOf(dims: Shape): Dim {
  let total = 0;
  const symbols: string[] = [];
  for (const dim of dims) {
    for (const part of cut(dim, "+")) {
      if (/^\d+$/.test(part)) total += Number(part);
      else symbols.push(part);
    }
  }
  if (symbols.length === 0) return total;
  return total === 0 ? symbols.join("+") : [...symbols, total].join("+");
}

/** NumPy broadcasting; a symbol matches itself and 1 only. */
export function broadcast(operator: string, a: Shape, b: Shape): Shape {
  const rank = Math.max(a.length, b.length);
  return Array.from({ length: rank }, (_, axis): Dim => {
    const left = a[axis - rank + a.length] ?? 1;
    const right = b[axis - rank + b.length] ?? 1;
    if (left === right || right === 1) return left;
    if (left === 1) return right;
    throw new TensorError(
      operator,
      [a, b],
      `dimensions ${left} and ${right} do not broadcast; each must be equal or 1`,
    );
  });
}

/** Axis counted from the front; negative axes count from the back. */
export function normalAxis(operator: string, shape: Shape, axis: number): number {
  const positive = axis < 0 ? axis + shape.length : axis;
  if (!Number.isInteger(axis) || positive < 0 || positive >= shape.length) {
    throw new TensorError(operator, [shape], `axis ${axis} must be in -${shape.length}..${shape.length - 1}`);
  }
  return positive;
}

/** The numbers behind a shape once its symbols are known. */
export function concreteShape(shape: Shape, symbols: Readonly<Record<string, number>>): number[] {
  const evaluate = (dim: Dim): number =>
    cut(dim, "+").reduce((sum, term) => sum + cut(term, "*").reduce((total, part) => total * size(part), 1), 0);
  const size = (part: string): number => {
    if (part.startsWith("(")) return evaluate(part.slice(1, -1));
    const known = symbols[part] ?? Number(part);
    if (!Number.isNaN(known)) return known;
    throw new TensorError("concreteShape", [shape], `"${part}" is not among ${Object.keys(symbols).join(", ")}`);
  };
  return shape.map(evaluate);
}
