import { LudusError } from "../errors.ts";

// Points are what several policies, or one under several preferences, come to in each of D objectives. More is better in all of them.

/** The points that no other beats: none is at least as good everywhere and better somewhere. In their order; equal points stay. */
export function paretoFront<Point>(
  points: readonly Point[],
  objectivesOf: (point: Point) => readonly number[],
): Point[] {
  const values = points.map(objectivesOf);
  checkPoints(values);
  return points.filter((_, i) => !values.some((other) => dominates(other, values[i])));
}

function dominates(a: readonly number[], b: readonly number[]): boolean {
  return a.every((value, d) => value >= b[d]) && a.some((value, d) => value > b[d]);
}

/**
 * The volume between the points and a reference that all of them should beat: the larger, the better is the front as a whole. Exact, by slices of one
 * objective after the other; what does not beat the reference adds nothing.
 */
export function hypervolume(points: readonly (readonly number[])[], reference: readonly number[]): number {
  checkPoints([...points, reference]);
  const above = points.filter((point) => point.every((value, d) => value > reference[d]));
  return volume(above, reference);
}

function volume(points: readonly (readonly number[])[], reference: readonly number[]): number {
  if (points.length === 0) return 0;
  const [low, ...rest] = reference;
  if (rest.length === 0) return Math.max(...points.map(([value]) => value)) - low;
  // from the best in the first objective downwards: each slice is covered by all points that reach it
  const sorted = points.toSorted((a, b) => b[0] - a[0]);
  return sorted.reduce((sum, [value], i) => {
    const next = sorted[i + 1]?.[0] ?? low;
    const covered = sorted.slice(0, i + 1).map(([, ...others]) => others);
    return value === next ? sum : sum + (value - next) * volume(covered, rest);
  }, 0);
}

function checkPoints(points: readonly (readonly number[])[]): void {
  const D = points[0]?.length ?? 0;
  const wrong = points.findIndex((point) => point.length !== D || D === 0 || !point.every(Number.isFinite));
  if (wrong < 0) return;
  throw new LudusError("bad-point", {
    got: `[${points[wrong]}], point ${wrong}`,
    expected: `${Math.max(1, D)} finite numbers, one for each objective`,
  });
}
