import { framed, round, text } from "./svg.ts";

/** Horizontal bars in parts, one below the other, from the same zero. */
export interface Bars {
  title: string;
  description: string;
  bars: readonly { name: string; parts: Readonly<Record<string, number>>; label: string }[];
}

const colours = ["#2f81d8", "#d9772b", "#2a9d64", "#8957e5", "#6e7781"];
const page = { width: 960, left: 230, right: 120 };
const rowHeight = 44;
const top = 76;

export function stackedBars({ title, description, bars }: Bars): string {
  const names = [...new Set(bars.flatMap(({ parts }) => Object.keys(parts)))];
  const totals = bars.map(({ parts }) => Object.values(parts).reduce((sum, part) => sum + part, 0));
  const scale = (page.width - page.left - page.right) / Math.max(...totals);
  const colourOf = (name: string) => colours[names.indexOf(name) % colours.length];
  const height = top + bars.length * rowHeight + 8;
  const frame = { title, description, width: page.width, height, style: ".name{font-weight:600}", left: 20 };
  return framed(frame, [
    ...names.map((name, index) => legendEntry(20 + index * 185, name, colourOf(name))),
    ...bars.map((bar, index) => drawBar(bar, top + index * rowHeight, scale, colourOf)),
  ]);
}

function legendEntry(x: number, name: string, colour: string): string {
  return `<rect x="${x}" y="38" width="14" height="14" fill="${colour}"/>${text(x + 20, 50, name)}`;
}

function drawBar(
  { name, parts, label }: Bars["bars"][number],
  y: number,
  scale: number,
  colourOf: (name: string) => string,
): string {
  let x = page.left;
  const rects = Object.entries(parts).map(([part, value]) => {
    const width = Math.max(0, value * scale);
    const rect = `<rect x="${round(x)}" y="${y}" width="${round(width)}" height="28" fill="${colourOf(part)}"/>`;
    x += width;
    return rect;
  });
  return [text(20, y + 18, name, 'class="name"'), ...rects, text(x + 8, y + 18, label)].join("");
}
