/**
 * A dimension is a number, a symbol ("B") or a product of both ("2*B*T"), so one graph serves every batch size and length.
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

/** The product of dimensions, as one dimension. */
export function product(dims: Shape): Dim {
  let factor = 1;
  const symbols: string[] = [];
  for (const dim of dims) {
    for (const part of String(dim).split("*")) {
      if (/^\d+$/.test(part)) factor *= Number(part);
      else symbols.push(part);
    }
  }
  if (symbols.length === 0) return factor;
  symbols.sort();
  return factor === 1 ? symbols.join("*") : [factor, ...symbols].join("*");
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
  return shape.map((dim) =>
    String(dim)
      .split("*")
      .reduce((total, part) => total * (symbols[part] ?? Number(part)), 1),
  );
}
