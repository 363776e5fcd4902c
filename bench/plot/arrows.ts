import { framed, ink, round, text } from "./svg.ts";

/** One line for each row, from one value between 0 and 1 to another. */
export interface Arrows {
  title: string;
  description: string;
  rows: readonly {
    name: string;
    from: number;
    to: number;
    /** Interval of `to`. */
    low?: number;
    high?: number;
    goal: number;
    /** Of other methods: small marks. */
    others: readonly number[];
  }[];
}

const page = { width: 960, left: 190, right: 70 };
const rowHeight = 26;
const top = 92;
const colours = { from: "#d9772b", to: "#2f81d8", goal: "#2a9d64", other: "#8957e5" };
const xOf = (value: number) => round(page.left + value * (page.width - page.left - page.right));

export function arrows({ title, description, rows }: Arrows): string {
  const height = top + rows.length * rowHeight + 12;
  const frame = { title, description, width: page.width, height, style: ".name{font-weight:600}", left: 20 };
  return framed(frame, [
    legend(rows.some(({ others }) => others.length > 0)),
    ...[0, 0.25, 0.5, 0.75, 1].map((value) => gridLine(value, height)),
    ...rows.map((row, index) => drawRow(row, top + index * rowHeight + 12)),
  ]);
}

function legend(hasOthers: boolean): string {
  const entries = [
    [colours.from, "warm start"],
    [colours.to, "after learning, with its interval"],
    [colours.goal, "wanted"],
    ...(hasOthers ? [[colours.other, "other methods"]] : []),
  ];
  return entries
    .map(
      ([colour, name], index) =>
        `<circle cx="${26 + index * 225}" cy="46" r="5" fill="${colour}"/>${text(38 + index * 225, 50, name)}`,
    )
    .join("\n");
}

function gridLine(value: number, height: number): string {
  const x = xOf(value);
  const line = `<line x1="${x}" x2="${x}" y1="${top - 6}" y2="${height - 8}" stroke="${ink}" stroke-opacity="0.25"/>`;
  return `${line}${text(x - 8, top - 14, value.toFixed(2))}`;
}

function drawRow({ name, from, to, low, high, goal, others }: Arrows["rows"][number], y: number): string {
  const interval =
    low === undefined || high === undefined
      ? ""
      : `<line x1="${xOf(low)}" x2="${xOf(high)}" y1="${y}" y2="${y}" stroke="${colours.to}" stroke-width="8" stroke-opacity="0.35"/>`;
  return [
    text(20, y + 4, name, 'class="name"'),
    `<line x1="${xOf(from)}" x2="${xOf(to)}" y1="${y}" y2="${y}" stroke="${ink}" stroke-width="1.5"/>`,
    interval,
    `<line x1="${xOf(goal)}" x2="${xOf(goal)}" y1="${y - 9}" y2="${y + 9}" stroke="${colours.goal}" stroke-width="2.5"/>`,
    ...others.map((value) => `<circle cx="${xOf(value)}" cy="${y}" r="3" fill="${colours.other}"/>`),
    `<circle cx="${xOf(from)}" cy="${y}" r="5" fill="${colours.from}"/>`,
    `<circle cx="${xOf(to)}" cy="${y}" r="5" fill="${colours.to}"/>`,
    text(page.width - page.right + 14, y + 4, to.toFixed(2)),
  ].join("");
}
