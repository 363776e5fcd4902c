const levels = "▁▂▃▄▅▆▇█";

/** A row of small columns for numbers from 0 to 1. */
export function sparkline(values: readonly number[], width = 20): string {
  const step = Math.max(1, Math.ceil(values.length / width));
  const columns = Array.from({ length: Math.ceil(values.length / step) }, (_, i) => {
    const part = values.slice(i * step, (i + 1) * step);
    return part.reduce((a, b) => a + b, 0) / part.length;
  });
  return columns.map((value) => levels[Math.min(levels.length - 1, Math.floor(value * levels.length))]).join("");
}

/** One line that is drawn over on a terminal; elsewhere a line every quarter of the way. */
export function bar(title: string, done: number, total: number, note: string): void {
  const filled = Math.round((done / total) * 24);
  const line = `${title} ${"█".repeat(filled)}${"░".repeat(24 - filled)} ${done}/${total} ${note}`;
  if (process.stdout.isTTY) process.stdout.write(`\r\x1b[K${line}${done === total ? "\n" : ""}`);
  else if (done % Math.ceil(total / 4) === 0) console.log(line);
}

/** A share with its 95 % interval (Wilson). */
export function interval(share: number, count: number): string {
  const z = 1.96;
  const middle = (share + z ** 2 / (2 * count)) / (1 + z ** 2 / count);
  const half = (z / (1 + z ** 2 / count)) * Math.sqrt((share * (1 - share)) / count + z ** 2 / (4 * count ** 2));
  return `${share.toFixed(2)} [${(middle - half).toFixed(2)}, ${(middle + half).toFixed(2)}]`;
}
