import type { Interval } from "../eval/index.ts";

/**
 * 95 % for the difference b - a of two independent figures with 95 % intervals (Newcombe's method 10 where those are Wilson's;
 * MOVER in general). Two policies measured on the same tasks differ by less chance than this allows for.
 */
export function differenceInterval(a: Interval, b: Interval): Interval {
  const mean = b.mean - a.mean;
  return {
    mean,
    low: mean - Math.hypot(b.mean - b.low, a.high - a.mean),
    high: mean + Math.hypot(b.high - b.mean, a.mean - a.low),
  };
}
