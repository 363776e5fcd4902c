import { type LogAxis, logAxis } from "./log-axis.ts";
import { type Look, lookOf } from "./look.ts";
import { framed, ink, round, text } from "./svg.ts";

/** Panels side by side that share their lines' names and colours. Both axes are logarithmic. */
export interface LinePlot {
  title: string;
  description: string;
  panels: readonly Panel[];
  note: string;
}

export interface Panel {
  title: string;
  horizontal: { label: string; at: readonly number[]; format(value: number): string };
  vertical: { label: string; format(value: number): string };
  lines: readonly Line[];
}

export interface Line {
  name: string;
  /** Labels stand in a row below the panel, where no line can cross them. */
  points: readonly { x: number; y: number; label: string }[];
}

const margin = 20;
const page = { width: 960, height: 470 };
const panelTop = 84;
const panelBottom = 350;
const panelLefts = [72, 556];
const panelWidth = 380;
const labelRow = 16;

const style = `.panel{font-size:13px;font-weight:600}.label{font-size:11px;font-weight:600}
.grid{stroke:${ink};stroke-opacity:.25}.axis{stroke:${ink};stroke-opacity:.7;fill:none}
.line{fill:none;stroke-width:2;stroke-linejoin:round}`;

export function linePlot({ title, description, panels, note }: LinePlot): string {
  const names = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))];
  return framed({ title, description, ...page, style, left: margin }, [
    ...names.map((name, index) => legendEntry(margin + index * 165, name, lookOf(names, name))),
    ...panels.map((panel, index) => drawPanel(panel, panelLefts[index], names)),
    text(margin, page.height - 12, note),
  ]);
}

function legendEntry(x: number, name: string, look: Look): string {
  const line = `<path class="line" stroke="${look.colour}" d="M${x} 44h26"/>`;
  return line + look.mark(x + 13, 44) + text(x + 33, 48, name);
}

function drawPanel(panel: Panel, left: number, names: readonly string[]): string {
  const all = panel.lines.flatMap(({ points }) => points);
  const horizontal = logAxis({ values: all.map(({ x }) => x), from: left, to: left + panelWidth, ...panel.horizontal });
  const vertical = logAxis({ values: all.map(({ y }) => y), from: panelBottom, to: panelTop, ...panel.vertical });
  const upright = `transform="translate(${left - 50} ${(panelTop + panelBottom) / 2}) rotate(-90)"`;
  return [
    text(left, panelTop - 12, panel.title, 'class="panel"'),
    ...horizontal.ticks.map(({ value, label }) => verticalTick(horizontal.place(value), label)),
    ...vertical.ticks.map(({ value, label }) => horizontalTick(left, vertical.place(value), label)),
    `<path class="axis" d="M${left} ${panelTop}V${panelBottom}H${left + panelWidth}"/>`,
    text(left + panelWidth / 2, panelBottom + 34, panel.horizontal.label, 'text-anchor="middle"'),
    text(0, 0, panel.vertical.label, `text-anchor="middle" ${upright}`),
    // the first line lies on top
    ...panel.lines.toReversed().map((line) => drawLine(line, horizontal, vertical, lookOf(names, line.name))),
    ...panel.lines.map((line, row) => drawLabels(line, horizontal, row, lookOf(names, line.name))),
  ].join("\n");
}

function verticalTick(x: number, label: string): string {
  const line = `<path class="grid" d="M${round(x)} ${panelTop}V${panelBottom}"/>`;
  return line + text(x, panelBottom + 18, label, 'text-anchor="middle"');
}

function horizontalTick(left: number, y: number, label: string): string {
  const line = `<path class="grid" d="M${left} ${round(y)}h${panelWidth}"/>`;
  return line + text(left - 8, y + 4, label, 'text-anchor="end"');
}

function drawLine({ points }: Line, horizontal: LogAxis, vertical: LogAxis, look: Look): string {
  const places = points.map(({ x, y }) => [round(horizontal.place(x)), round(vertical.place(y))] as const);
  const path = places.map(([x, y], index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const marks = places.map(([x, y]) => look.mark(x, y));
  return `<path class="line" stroke="${look.colour}" d="${path}"/>${marks.join("")}`;
}

function drawLabels({ points }: Line, horizontal: LogAxis, row: number, { colour }: Look): string {
  const y = panelBottom + 56 + row * labelRow;
  const attributes = `class="label" text-anchor="middle" style="fill:${colour}"`;
  return points.map(({ x, label }) => text(horizontal.place(x), y, label, attributes)).join("");
}
