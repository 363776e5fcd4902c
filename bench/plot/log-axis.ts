/** Where values of a logarithmic axis lie on the page. */
export interface LogAxis {
  place(value: number): number;
  ticks: readonly { value: number; label: string }[];
}

export interface LogAxisOptions {
  /** The values that must fit. */
  values: readonly number[];
  /** Page positions of the low and the high end. */
  from: number;
  to: number;
  /** Ticks at these values, instead of at 1, 2 and 5 times powers of ten. */
  at?: readonly number[];
  format(value: number): string;
}

/** Room at both ends. */
const margin = 1.3;

export function logAxis({ values, from, to, at, format }: LogAxisOptions): LogAxis {
  const low = Math.min(...values) / margin;
  const high = Math.max(...values) * margin;
  const place = (value: number) => from + ((to - from) * Math.log(value / low)) / Math.log(high / low);
  const shown = (at ?? roundValues(low, high)).filter((value) => value >= low && value <= high);
  return { place, ticks: shown.map((value) => ({ value, label: format(value) })) };
}

function roundValues(low: number, high: number): number[] {
  const powers = Array.from({ length: 12 }, (_, exponent) => 10 ** exponent);
  const all = powers.flatMap((power) => [power, 2 * power, 5 * power]);
  const inside = all.filter((value) => value >= low && value <= high);
  // over many decades 1, 2, 5 would crowd
  return inside.length <= 8 ? inside : inside.filter((value) => Number.isInteger(Math.log10(value)));
}
