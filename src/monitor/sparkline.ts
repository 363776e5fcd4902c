import { mean } from "../statistics.ts";

const bars = "▁▂▃▄▅▆▇█";

/** Values as bars of eight heights; neighbours are averaged where there are more than `width`. Values that are not finite are left out. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = joined(values.filter(Number.isFinite), width);
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const scale = high > low ? (bars.length - 1) / (high - low) : 0;
  return shown.map((value) => bars[Math.round((value - low) * scale)]).join("");
}

/** Means of neighbours, so that no more than `width` are left. */
function joined(values: readonly number[], width: number): number[] {
  if (values.length <= width) return [...values];
  return Array.from({ length: width }, (_, i) => {
    const part = values.slice(Math.floor((i * values.length) / width), Math.floor(((i + 1) * values.length) / width));
    return mean(part);
  });
}

const maxPoints = 480;

/** The values of a run for a sparkline. Beyond some hundred, neighbours are averaged: what it holds does not grow with the run. */
export class Curve {
  /** As it came. */
  last: number | undefined;
  #means: number[] = [];
  /** Values in a mean. */
  #width = 1;
  #part: number[] = [];

  push(value: number): void {
    this.last = value;
    if (!Number.isFinite(value)) return;
    this.#part.push(value);
    if (this.#part.length < this.#width) return;
    this.#means.push(mean(this.#part));
    this.#part = [];
    if (this.#means.length < maxPoints) return;
    this.#means = joined(this.#means, maxPoints / 2);
    this.#width *= 2;
  }

  sparkline(width: number): string {
    return sparkline(this.#part.length === 0 ? this.#means : [...this.#means, mean(this.#part)], width);
  }
}
