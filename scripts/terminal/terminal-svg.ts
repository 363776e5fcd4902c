import type { Line } from "./screen.ts";

export interface Frame {
  /** Seconds for which it is shown. */
  readonly seconds: number;
  readonly lines: readonly Line[];
}

export interface TerminalSvgOptions {
  readonly title: string;
  readonly columns: number;
  readonly rows: number;
}

const cell = { width: 7.9, height: 18, size: 13 };
const margin = 16;
const bar = 30;

const colours: Readonly<Record<string, string>> = {
  red: "#fca5a5",
  green: "#86efac",
  yellow: "#fde68a",
  blue: "#93c5fd",
  magenta: "#f0abfc",
  cyan: "#67e8f9",
  white: "#f8fafc",
  black: "#64748b",
};

/** Frames one after the other, without scripts. Where nothing moves, or should not, the last one stands. */
export function terminalSvg(frames: readonly Frame[], { title, columns, rows }: TerminalSvgOptions): string {
  const width = Math.ceil(columns * cell.width + 2 * margin);
  const inner = rows * cell.height + margin;
  const height = inner + bar + margin;
  const total = frames.reduce((sum, { seconds }) => sum + seconds, 0);
  const steps = startsOf(frames).map(
    (start, i) => `${((100 * start) / total).toFixed(2)}% { transform: translateY(${-i * inner}px); }`,
  );
  const rest = -(frames.length - 1) * inner;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escapeXml(title)}">
<style>
text { font: ${cell.size}px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #e2e8f0; white-space: pre; }
.bold { font-weight: 600; } .dim { fill: #94a3b8; }
${Object.entries(colours)
  .map(([name, colour]) => `.${name} { fill: ${colour}; }`)
  .join(" ")}
.film { transform: translateY(${rest}px); animation: film ${total.toFixed(1)}s step-end infinite; }
@keyframes film { ${steps.join(" ")} }
@media (prefers-reduced-motion: reduce) { .film { animation: none; } }
</style>
<rect width="${width}" height="${height}" rx="8" fill="#0f172a"/>
<circle cx="18" cy="15" r="5" fill="#475569"/><circle cx="34" cy="15" r="5" fill="#475569"/><circle cx="50" cy="15" r="5" fill="#475569"/>
<text class="dim" x="${width / 2}" y="19" text-anchor="middle">${escapeXml(title)}</text>
<clipPath id="window"><rect width="${width}" height="${inner}"/></clipPath>
<g transform="translate(0 ${bar})" clip-path="url(#window)"><g class="film">
${frames.map(({ lines }, i) => frameText(lines.slice(-rows), i * inner)).join("\n")}
</g></g>
</svg>
`;
}

function startsOf(frames: readonly Frame[]): number[] {
  let start = 0;
  return frames.map(({ seconds }) => {
    const own = start;
    start += seconds;
    return own;
  });
}

function frameText(lines: readonly Line[], top: number): string {
  const texts = lines.flatMap((runs, row) => {
    if (runs.length === 0) return [];
    const y = top + (row + 1) * cell.height;
    const count = runs.reduce((sum, { text }) => sum + [...text].length, 0);
    const spans = runs.map(({ text, style }) =>
      style === "" ? escapeXml(text) : `<tspan class="${style}">${escapeXml(text)}</tspan>`,
    );
    // so that columns stay columns whatever font there is
    const length = (count * cell.width).toFixed(1);
    return [
      `<text x="${margin}" y="${y}" xml:space="preserve" textLength="${length}" lengthAdjust="spacingAndGlyphs">${spans.join("")}</text>`,
    ];
  });
  return `<g>${texts.join("")}</g>`;
}

function escapeXml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}
