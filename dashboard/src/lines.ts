import type { Series } from "../../src/server/dashboard/answers.ts";

export interface Line {
  readonly label: string;
  /** Which of the style sheet's series colours, from 0. */
  readonly colour: number;
  readonly isDashed?: boolean;
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
}

export type Columns = [number[], ...(number | null)[][]];

/** Exponential moving average, corrected for its start at 0 (as Adam's moments are). */
export function smooth(values: readonly (number | null)[], share: number): (number | null)[] {
  if (share <= 0) return [...values];
  let [sum, weight] = [0, 0];
  return values.map((value) => {
    if (value === null) return null;
    sum = share * sum + (1 - share) * value;
    weight = share * weight + (1 - share);
    return sum / weight;
  });
}

/** Lines over the steps of all of them; null where a line has none. */
export function align(lines: readonly Pick<Line, "steps" | "values">[]): Columns {
  const steps = [...new Set(lines.flatMap((line) => line.steps))].sort((a, b) => a - b);
  const place = new Map(steps.map((step, i) => [step, i]));
  const columns = lines.map((line) => {
    const column = new Array<number | null>(steps.length).fill(null);
    line.steps.forEach((step, i) => {
      column[place.get(step)!] = line.values[i] ?? null;
    });
    return column;
  });
  return [steps, ...columns];
}

/**
 * Shares or parts of one whole, on the steps of `grid`. What is absent at a step was 0 there, so a point that joins several
 * steps counts as many times, and is divided by the steps of its place on the grid.
 */
export function onGrid(grid: Series, parts: readonly Series[]): number[][] {
  const first = (grid.steps[0] ?? 0) - ((grid.counts[0] ?? 1) - 1);
  return parts.map((part) => {
    const sums = new Array<number>(grid.steps.length).fill(0);
    let place = 0;
    part.steps.forEach((step, i) => {
      // a part may begin earlier than the whole: a warm start takes time and has no rewards
      if (step < first) return;
      while (place < grid.steps.length - 1 && grid.steps[place] < step) place++;
      sums[place] += (part.values[i] ?? 0) * part.counts[i];
    });
    return sums.map((sum, i) => sum / (grid.counts[i] ?? 1));
  });
}

/** Cumulative sums over the parts; negative parts stack downwards. */
export function stacked(parts: readonly (readonly number[])[]): number[][] {
  const above = new Array<number>(parts[0]?.length ?? 0).fill(0);
  const below = [...above];
  return parts.map((part) =>
    part.map((value, i) => {
      const total = value < 0 ? below : above;
      total[i] += value;
      return total[i];
    }),
  );
}
