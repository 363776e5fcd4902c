import { right, type VerifierVerdict, wrong } from "./verdict.ts";

type Cell = number | string | null;

export interface ComparedTable {
  readonly rows: readonly (readonly Cell[])[];
}

const tolerance = 1e-9;

/**
 * Whether two results of queries hold the same rows. Names of columns do not count, their order does; rows count as often as they come, in
 * any order unless `isOrdered`. Numbers are compared within 1e-9 of their size, as sums depend on the order of their terms.
 */
export function sameRows(said: ComparedTable, gold: ComparedTable, isOrdered: boolean): VerifierVerdict {
  const width = said.rows[0]?.length ?? 0;
  if (said.rows.length !== gold.rows.length) return wrong(`${said.rows.length} rows instead of ${gold.rows.length}`);
  if (gold.rows.length > 0 && width !== gold.rows[0].length) {
    return wrong(`${width} columns instead of ${gold.rows[0].length}`);
  }
  const [a, b] = isOrdered ? [said.rows, gold.rows] : [sorted(said.rows), sorted(gold.rows)];
  const other = a.findIndex((row, r) => row.some((cell, c) => !sameCell(cell, b[r][c])));
  return other === -1 ? right : wrong(isOrdered ? `another row ${other + 1}` : "other rows");
}

function sameCell(a: Cell, b: Cell): boolean {
  if (typeof a !== "number" || typeof b !== "number") return a === b;
  return Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b));
}

function sorted(rows: ComparedTable["rows"]): ComparedTable["rows"] {
  return rows.toSorted((a, b) => {
    for (const [c, cell] of a.entries()) {
      const order = compare(cell, b[c]);
      if (order !== 0) return order;
    }
    return 0;
  });
}

/** Null, numbers, texts. Numbers that count as equal are not put apart by their last digits. */
function compare(a: Cell, b: Cell): number {
  const rank = (cell: Cell) => (cell === null ? 0 : typeof cell === "number" ? 1 : 2);
  if (rank(a) !== rank(b) || a === null || b === null) return rank(a) - rank(b);
  if (sameCell(a, b)) return 0;
  return a < b ? -1 : 1;
}
