/** The first row is the head. A column whose cells begin with a digit is aligned to the right. */
export type Table = readonly (readonly string[])[];

function isNumeric(table: Table, column: number): boolean {
  return table.slice(1).every((row) => /^(?:\d.*|–)?$/.test(row[column]));
}

export function textTable(table: Table): string {
  const columns = table[0].map((_, column) => ({
    width: Math.max(...table.map((row) => row[column].length)),
    isNumeric: isNumeric(table, column),
  }));
  const line = (row: readonly string[]) =>
    row
      .map((cell, column) => {
        const { width, isNumeric } = columns[column];
        return isNumeric ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(table[0]), columns.map(({ width }) => "─".repeat(width)).join("  "), ...table.slice(1).map(line)].join(
    "\n",
  );
}

export function markdownTable(table: Table): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = table[0].map((_, column) => (isNumeric(table, column) ? "--:" : "---"));
  return [line(table[0]), line(rule), ...table.slice(1).map(line)].join("\n");
}

/** Three digits, thousands apart. */
export function formatNumber(value: number): string {
  const rounded = Number(value.toPrecision(3));
  const digits = Math.max(0, 2 - Math.floor(Math.log10(Math.abs(rounded) || 1)));
  return rounded.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
}

export function formatMegabytes(bytes: number | undefined): string {
  return bytes === undefined ? "–" : `${Math.round(bytes / 1e6)} MB`;
}
