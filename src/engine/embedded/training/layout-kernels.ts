import {
  addVector,
  type Code,
  get,
  integer,
  join,
  type KernelCode,
  load,
  loadFloat,
  multiply,
  set,
  store,
  storeFloat,
} from "../kernels/wasm-code.ts";
import { floatBytes, four, kernel, move, overRow, overRows, upTo, vectorBytes } from "./kernel-code.ts";

/** Rows copied, or added to what is there: strides are counted in sixteen numbers, steps in bytes. */
export function copyKernel(kind: "copy" | "add"): KernelCode {
  return kernel(kind, ["from", "fromRow", "to", "toRow", "rows", "strides"], (p, locals) =>
    overRows(
      locals,
      p.rows,
      [
        [p.from, p.fromRow],
        [p.to, p.toRow],
      ],
      (from, to) =>
        overRow(locals, p.strides, [from, to], (source, target) => {
          const values = locals.many("vector", 4);
          const value = (offset: number) =>
            kind === "copy" ? load(source, offset) : addVector(load(target, offset), load(source, offset));
          return join(
            ...values.map((one, i) => set(one, value(i * vectorBytes))),
            ...values.map((one, i) => store(target, get(one), i * vectorBytes)),
          );
        }),
    ),
  );
}

/** A matrix of rows into panels of columns, `[panels][rows][panelWidth]`: how `gemm` reads its second factor. */
export function packKernel(panelWidth: number): KernelCode {
  return kernel("pack", ["from", "fromRow", "to", "rows", "panels"], (p, locals) => {
    const { to, column } = locals.named("integer", "to", "column");
    const vectors = locals.many("vector", panelWidth / 4);
    const onePanel = join(
      overRows(locals, p.rows, [[get(column), p.fromRow]], (from) =>
        join(
          ...vectors.map((one, i) => set(one, load(from, i * vectorBytes))),
          ...vectors.map((one, i) => store(get(to), get(one), i * vectorBytes)),
          move(to, integer(panelWidth * floatBytes)),
        ),
      ),
      move(column, integer(panelWidth * floatBytes)),
    );
    return join(set(to, p.to), set(column, p.from), upTo(locals, p.panels, onePanel));
  });
}

/** Lanes of two vectors, by number from 0 to 7. */
const shuffle = (a: Code, b: Code, lanes: readonly number[]): Code => [
  ...a,
  ...b,
  ...[0xfd, 0x0d],
  ...lanes.flatMap((lane) => four.map((byte) => lane * 4 + byte)),
];

/** Rows become columns of panels, `[panels][columns][panelWidth]`, four times four numbers at a time; only whole panels. */
export function transposeKernel(panelWidth: number): KernelCode {
  const toRow = integer(panelWidth * floatBytes);
  return kernel("transpose", ["from", "fromRow", "to", "panels", "fourColumns"], (p, locals) =>
    overRows(
      locals,
      p.panels,
      [
        [p.from, multiply(p.fromRow, integer(panelWidth))],
        [p.to, multiply(p.fourColumns, integer(4 * panelWidth * floatBytes))],
      ],
      (panelFrom, panelTo) =>
        overRows(
          locals,
          integer(panelWidth / 4),
          [
            [panelFrom, multiply(p.fromRow, integer(4))],
            [panelTo, integer(vectorBytes)],
          ],
          (from, to) =>
            overRows(
              locals,
              p.fourColumns,
              [
                [from, integer(vectorBytes)],
                [to, multiply(toRow, integer(4))],
              ],
              (source, target) => transposeFour(locals, { source, fromRow: p.fromRow, target, toRow }),
            ),
        ),
    ),
  );
}

function transposeFour(
  locals: Parameters<typeof upTo>[0],
  { source, fromRow, target, toRow }: { source: Code; fromRow: Code; target: Code; toRow: Code },
): Code {
  const at = locals.make("integer");
  const rows = locals.many("vector", 4);
  const [r0, r1, r2, r3] = rows.map(get) as [Code, Code, Code, Code];
  const halves = locals.many("vector", 4);
  const [low01, high01, low23, high23] = halves.map(get) as [Code, Code, Code, Code];
  const columns = [
    shuffle(low01, low23, [0, 1, 4, 5]),
    shuffle(low01, low23, [2, 3, 6, 7]),
    shuffle(high01, high23, [0, 1, 4, 5]),
    shuffle(high01, high23, [2, 3, 6, 7]),
  ];
  return join(
    set(at, source),
    ...rows.flatMap((row) => [set(row, load(get(at))), move(at, fromRow)]),
    set(halves[0], shuffle(r0, r1, [0, 4, 1, 5])),
    set(halves[1], shuffle(r0, r1, [2, 6, 3, 7])),
    set(halves[2], shuffle(r2, r3, [0, 4, 1, 5])),
    set(halves[3], shuffle(r2, r3, [2, 6, 3, 7])),
    set(at, target),
    ...columns.flatMap((column) => [store(get(at), column), move(at, toRow)]),
  );
}

/** As `transpose`, for a single row of the last panel: one number at a time. */
export function transposeRowKernel(panelWidth: number): KernelCode {
  return kernel("transposeRow", ["from", "to", "columns"], (p, locals) =>
    overRows(
      locals,
      p.columns,
      [
        [p.from, integer(floatBytes)],
        [p.to, integer(panelWidth * floatBytes)],
      ],
      (from, to) => storeFloat(to, loadFloat(from)),
    ),
  );
}

/** Adds the sum over rows to one row: the gradient of a bias. */
export function sumRowsKernel(): KernelCode {
  return kernel("sumRows", ["from", "fromRow", "to", "rows", "strides"], (p, locals) =>
    overRow(locals, p.strides, [p.from, p.to], (from, to) => {
      const sums = locals.many("vector", 4);
      return join(
        ...sums.map((sum, i) => set(sum, load(to, i * vectorBytes))),
        overRows(locals, p.rows, [[from, p.fromRow]], (row) =>
          join(...sums.map((sum, i) => set(sum, addVector(get(sum), load(row, i * vectorBytes))))),
        ),
        ...sums.map((sum, i) => store(to, get(sum), i * vectorBytes)),
      );
    }),
  );
}
