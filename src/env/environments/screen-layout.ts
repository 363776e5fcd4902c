import type { Rng } from "../../random.ts";
import type { BoundingBox, Point } from "../../scorer/point-in-box.ts";

/** Placed on a grid of cells; each is one row high. */
export interface Widget {
  readonly kind: "app" | "button" | "field";
  /** No other of its page has the same. */
  readonly label: string;
  readonly row: number;
  readonly column: number;
  readonly width: number;
}

export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
  /** Pixels of a cell, both ways. */
  readonly cell: number;
  /** What the policy is shown, and speaks of, in pixels. */
  readonly shown: Point;
}

/** In pixels of the screen, scrolled by some rows. */
export function boxOf({ row, column, width }: Widget, scrolled: number, { cell }: ScreenSize): BoundingBox {
  const top = (row - scrolled) * cell;
  return [column * cell, top, (column + width) * cell - 1, top + cell - 1];
}

/** In pixels of what is shown. Rounded inwards, so that every pixel of it maps back into the box. */
export function shownBox([left, top, right, bottom]: BoundingBox, size: ScreenSize): BoundingBox {
  const [x, y] = factors(size);
  return [Math.ceil(left * x), Math.ceil(top * y), Math.floor(right * x), Math.floor(bottom * y)];
}

/** From what is shown to the screen. */
export function mapBack([x, y]: Point, size: ScreenSize): Point {
  const [factorX, factorY] = factors(size);
  return [Math.round(x / factorX), Math.round(y / factorY)];
}

export function factors({ columns, rows, cell, shown: [width, height] }: ScreenSize): Point {
  return [width / (columns * cell), height / (rows * cell)];
}

/** Widgets in rows of their own, out of the first `rows`. */
export function place(
  rng: Rng,
  widgets: readonly Pick<Widget, "kind" | "label">[],
  { columns, rows }: { columns: number; rows: number },
): Widget[] {
  const free = Array.from({ length: rows }, (_, row) => row);
  return widgets
    .map(({ kind, label }) => {
      const row = free.splice(rng.integer(free.length), 1)[0];
      const width = Math.min(columns, label.length + (kind === "field" ? fieldRoom : 2));
      return { kind, label, row, column: rng.integer(columns - width + 1), width };
    })
    .sort((a, b) => a.row - b.row);
}

/** For a colon, what is written in it, and its two ends. */
const fieldRoom = 8;

const emptyCell = ".";
const ends = { app: "<>", button: "[]", field: "__" };

/** The screen in characters, one for each cell. */
export function drawBitmap(
  widgets: readonly Widget[],
  texts: Readonly<Record<string, string>>,
  { columns, rows }: ScreenSize,
  scrolled: number,
): string {
  const lines = Array.from({ length: rows }, () => emptyCell.repeat(columns));
  for (const { kind, label, row, column, width } of widgets) {
    const line = lines[row - scrolled];
    if (line === undefined) continue;
    const text = texts[label];
    const inside = (text === undefined ? label : `${label}:${text}`).slice(0, width - 2).padEnd(width - 2, "_");
    const drawn = `${ends[kind][0]}${inside}${ends[kind][1]}`;
    lines[row - scrolled] = line.slice(0, column) + drawn + line.slice(column + width);
  }
  return lines.join("\n");
}
