import { type LogAxis, logAxis } from "./log-axis.ts";

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
  points: readonly { x: number; y: number; label?: string }[];
}

const page = { width: 960, height: 430 };
const panelTop = 84;
const panelBottom = 350;
const panelLefts = [72, 556];
const panelWidth = 380;

// Greys and hues that can be read on white and on near-black paper alike: the file is shown as it is on both.
const colours = ["#2f81d8", "#d9772b", "#2a9d64", "#9a6fd0"];
const ink = "#7d8590";
const style = `text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px;fill:${ink}}
.title{font-size:15px;font-weight:600}.panel{font-size:13px;font-weight:600}.share{font-size:11px;font-weight:600}
.grid{stroke:${ink};stroke-opacity:.25}.axis{stroke:${ink};stroke-opacity:.7}
.line{fill:none;stroke-width:2.25;stroke-linejoin:round}`;

export function linePlot({ title, description, panels, note }: LinePlot): string {
  const names = [...new Set(panels.flatMap(({ lines }) => lines.map(({ name }) => name)))];
  const colour = (name: string) => colours[names.indexOf(name) % colours.length]!;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${page.width} ${page.height}" role="img" aria-labelledby="title description">
<title id="title">${escapeText(title)}</title>
<desc id="description">${escapeText(description)}</desc>
<style>${style}</style>
${text(panelLefts[0]! - 52, 24, title, 'class="title"')}
${legend(names, colour)}
${panels.map((panel, index) => drawPanel(panel, panelLefts[index]!, colour)).join("\n")}
${text(panelLefts[0]! - 52, page.height - 12, note)}
</svg>
`;
}

function legend(names: readonly string[], colour: (name: string) => string): string {
  return names
    .map((name, index) => {
      const x = panelLefts[0]! - 52 + index * 160;
      return `<line x1="${x}" x2="${x + 22}" y1="44" y2="44" stroke="${colour(name)}" stroke-width="3"/>${text(x + 29, 48, name)}`;
    })
    .join("\n");
}

function drawPanel(panel: Panel, left: number, colour: (name: string) => string): string {
  const all = panel.lines.flatMap(({ points }) => points);
  const horizontal = logAxis({ values: all.map(({ x }) => x), from: left, to: left + panelWidth, ...panel.horizontal });
  const vertical = logAxis({ values: all.map(({ y }) => y), from: panelBottom, to: panelTop, ...panel.vertical });
  return [
    text(left, panelTop - 12, panel.title, 'class="panel"'),
    ...horizontal.ticks.map(({ value, label }) => verticalTick(horizontal.place(value), label)),
    ...vertical.ticks.map(({ value, label }) => horizontalTick(left, vertical.place(value), label)),
    `<path class="axis" fill="none" d="M${left} ${panelTop}V${panelBottom}H${left + panelWidth}"/>`,
    text(left + panelWidth / 2, panelBottom + 40, panel.horizontal.label, 'text-anchor="middle"'),
    text(
      0,
      0,
      panel.vertical.label,
      `text-anchor="middle" transform="translate(${left - 50} ${(panelTop + panelBottom) / 2}) rotate(-90)"`,
    ),
    ...panel.lines.map((line) => drawLine(line, horizontal, vertical, colour(line.name))),
  ].join("\n");
}

function verticalTick(x: number, label: string): string {
  const line = `<line class="grid" x1="${round(x)}" x2="${round(x)}" y1="${panelTop}" y2="${panelBottom}"/>`;
  return line + text(x, panelBottom + 18, label, 'text-anchor="middle"');
}

function horizontalTick(left: number, y: number, label: string): string {
  const line = `<line class="grid" x1="${left}" x2="${left + panelWidth}" y1="${round(y)}" y2="${round(y)}"/>`;
  return line + text(left - 8, y + 4, label, 'text-anchor="end"');
}

function drawLine({ points }: Line, horizontal: LogAxis, vertical: LogAxis, colour: string): string {
  const placed = points.map(({ x, y, label }) => ({
    x: round(horizontal.place(x)),
    y: round(vertical.place(y)),
    label,
  }));
  const path = placed.map(({ x, y }, index) => `${index === 0 ? "M" : "L"}${x} ${y}`).join("");
  const marks = placed.map(({ x, y, label }) => {
    const mark = `<circle cx="${x}" cy="${y}" r="3.5" fill="${colour}"/>`;
    return label === undefined
      ? mark
      : mark + text(x, y - 9, label, `class="share" text-anchor="middle" style="fill:${colour}"`);
  });
  return `<path class="line" stroke="${colour}" d="${path}"/>${marks.join("")}`;
}

function text(x: number, y: number, content: string, attributes = ""): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escapeText(content)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

function escapeText(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
