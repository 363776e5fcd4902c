/** A grey that can be read on white and on near-black paper alike: the file is shown as it is on both. */
export const ink = "#6e7781";

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

export interface Frame {
  title: string;
  description: string;
  width: number;
  height: number;
  /** Rules beside those of text and title. */
  style: string;
  left: number;
}

/** A picture with its title, for eyes and for readers. */
export function framed({ title, description, width, height, style, left }: Frame, parts: readonly string[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-labelledby="title description">
<title id="title">${escapeText(title)}</title>
<desc id="description">${escapeText(description)}</desc>
<style>text{font-family:system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;font-size:12px;fill:${ink}}
.title{font-size:15px;font-weight:600}${style}</style>
${text(left, 24, title, 'class="title"')}
${parts.join("\n")}
</svg>
`;
}
