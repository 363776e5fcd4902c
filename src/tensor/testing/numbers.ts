/** A plain array with a shape, in double precision: what the references of operators compute with. */
export interface Numbers {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export type Index = readonly number[];

/** Every index of a shape, last axis fastest. */
export function indices(shape: readonly number[]): Index[] {
  return shape.reduce<Index[]>(
    (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, i) => [...index, i])),
    [[]],
  );
}

export function fill(shape: readonly number[], value: (index: Index) => number): Numbers {
  return { shape, data: Float64Array.from(indices(shape), value) };
}

/** One element. The index may be that of a larger array that `x` is broadcast to. */
export function at(x: Numbers, index: Index): number {
  const own = index.slice(index.length - x.shape.length);
  return x.data[x.shape.reduce((flat, size, axis) => flat * size + (size === 1 ? 0 : own[axis]), 0)];
}

export function map(x: Numbers, compute: (value: number) => number): Numbers {
  return { shape: x.shape, data: x.data.map(compute) };
}

export function broadcastShape(a: readonly number[], b: readonly number[]): number[] {
  const rank = Math.max(a.length, b.length);
  const dim = (shape: readonly number[], axis: number) => shape[axis - rank + shape.length] ?? 1;
  return Array.from({ length: rank }, (_, axis) => Math.max(dim(a, axis), dim(b, axis)));
}

/** Element by element, with broadcasting. */
export function zip(a: Numbers, b: Numbers, compute: (x: number, y: number) => number): Numbers {
  return fill(broadcastShape(a.shape, b.shape), (index) => compute(at(a, index), at(b, index)));
}

/** Each row of the last axis on its own. */
export function mapRows(x: Numbers, compute: (row: number[]) => number[]): Numbers {
  const width = x.shape.at(-1)!;
  const rows = Array.from({ length: x.data.length / width }, (_, i) => [
    ...x.data.subarray(i * width, (i + 1) * width),
  ]);
  const results = rows.map(compute);
  return { shape: [...x.shape.slice(0, -1), results[0].length], data: Float64Array.from(results.flat()) };
}

/** Sums over axes, which stay with size 1. */
export function sumAxes(x: Numbers, axes: readonly number[]): Numbers {
  const shape = x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
  const data = new Float64Array(shape.reduce((a, b) => a * b, 1));
  for (const index of indices(x.shape)) {
    const flat = shape.reduce((total, size, axis) => total * size + (size === 1 ? 0 : index[axis]), 0);
    data[flat] = data[flat] + at(x, index);
  }
  return { shape, data };
}

export function withShape(x: Numbers, shape: readonly number[]): Numbers {
  return { shape, data: x.data };
}

/** The last two axes exchanged. */
export function swapped(x: Numbers): Numbers {
  const exchange = (list: readonly number[]) => [...list.slice(0, -2), list.at(-1)!, list.at(-2)!];
  return fill(exchange(x.shape), (index) => at(x, exchange(index)));
}

/** Matrix product over the last two axes, the others broadcast. */
export function multiply(a: Numbers, b: Numbers): Numbers {
  const batch = broadcastShape(a.shape.slice(0, -2), b.shape.slice(0, -2));
  const inner = a.shape.at(-1)!;
  return fill([...batch, a.shape.at(-2)!, b.shape.at(-1)!], (index) => {
    const [before, row, column] = [index.slice(0, -2), index.at(-2)!, index.at(-1)!];
    let sum = 0;
    for (let k = 0; k < inner; k++) sum += at(a, [...before, row, k]) * at(b, [...before, k, column]);
    return sum;
  });
}
