/** Text at a place, safe whatever it holds. */
export function text(x: number, y: number, content: string, attributes = ""): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escapeText(content)}</text>`;
}

/** A tenth of a unit is finer than a screen shows, and keeps the file readable. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escapeText(content: string): string {
  return content.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
}
