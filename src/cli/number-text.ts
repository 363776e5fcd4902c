import type { Interval } from "../eval/index.ts";

/** A figure of a table: three digits that count; `-` for none. */
export function figure(value: number | null | undefined): string {
  if (value === undefined || value === null) return "-";
  if (Number.isInteger(value) && Math.abs(value) < 1e6) return String(value);
  const size = Math.abs(value);
  if (size >= 1e5 || (size < 1e-3 && size > 0)) return value.toExponential(2);
  return Number.isFinite(value) ? String(Number(value.toPrecision(3))) : String(value);
}

/** `0.93 [0.90, 0.95]`; `-` for none, and the mean alone where nothing bounds it. */
export function interval(known: Interval | undefined): string {
  if (known === undefined) return "-";
  const { mean, low, high } = known;
  if (!Number.isFinite(low) || !Number.isFinite(high)) return mean.toFixed(2);
  return `${mean.toFixed(2)} [${low.toFixed(2)}, ${high.toFixed(2)}]`;
}

/** `2026-11-15 08:17`, here. */
export function dateText(milliseconds: number): string {
  const date = new Date(milliseconds);
  const two = (value: number) => String(value).padStart(2, "0");
  const day = [date.getFullYear(), two(date.getMonth() + 1), two(date.getDate())].join("-");
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}
