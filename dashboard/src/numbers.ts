/** Three digits that matter, in few characters. */
export function short(value: number | null | undefined): string {
  if (value === undefined) return "–";
  if (value === null) return "NaN";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6) return `${trim((value / 1e6).toPrecision(3))}M`;
  if (size >= 1e4) return `${trim((value / 1e3).toPrecision(3))}k`;
  if (size >= 1000) return String(Math.round(value));
  if (size < 1e-3) return value.toExponential(1);
  return trim(value.toPrecision(3));
}

function trim(text: string): string {
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
}

export function count(number: number, noun: string): string {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

export function whole(value: number): string {
  return value.toLocaleString("en");
}

export function percent(value: number | null | undefined): string {
  return value === undefined ? "–" : value === null ? "NaN" : `${Math.round(value * 100)}%`;
}

/** How long ago, in the largest unit that fits. */
export function ago(time: number): string {
  const seconds = Math.max(0, (Date.now() - time) / 1000);
  const units = [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const;
  const [size, unit] = units.find(([each]) => seconds >= each) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}
