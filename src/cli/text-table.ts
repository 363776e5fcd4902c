import { stripVTControlCharacters } from "node:util";

/** Lines of columns as wide as they need to be. Columns whose index is in `right` are flush right. */
export function textTable(rows: readonly (readonly string[])[], right: readonly number[] = []): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [column, cell] of row.entries()) widths[column] = Math.max(widths[column] ?? 0, widthOf(cell));
  }
  const lines = rows.map((row) =>
    row
      .map((cell, column) => {
        const space = " ".repeat(widths[column] - widthOf(cell));
        return right.includes(column) ? space + cell : cell + space;
      })
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

/** Colours take no room. */
function widthOf(cell: string): number {
  return [...stripVTControlCharacters(cell)].length;
}
