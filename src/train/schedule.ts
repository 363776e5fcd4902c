import { rateBySize } from "../schema/rate-by-size.ts";

/** A number, or one that changes with the share of the run that is done, 0 to 1. */
export type Schedule = number | ((progress: number) => number);

export function scheduleAt(schedule: Schedule, progress: number): number {
  return typeof schedule === "number" ? schedule : schedule(progress);
}

/**
 * A schedule, or "by-size": a constant that falls with the square root of the number of parameters. Measured from 0.3M to 103M
 * (`docs/explain/what-learns.md`): the best rate of each size moves the policy by about 0.001 per token and step. Adapters were not measured;
 * they usually take about ten times the rate of whole weights. "by-size-falling" begins with twice that and falls along half a cosine to
 * a fifth of it: for runs whose number of steps is known.
 */
export type LearningRate = Schedule | "by-size" | "by-size-falling";

const fromTwice = cosine(2, 0.1);

export function rateAt(rate: LearningRate, progress: number, parameters: number): number {
  if (rate === "by-size") return rateBySize(parameters);
  if (rate === "by-size-falling") return rateBySize(parameters) * scheduleAt(fromTwice, progress);
  return scheduleAt(rate, progress);
}

/** From one value to another along a straight line. */
export function linearSchedule(from: number, to: number): Schedule {
  return (progress) => from + (to - from) * Math.min(1, progress);
}

/** Half a cosine down from a value to a share of it. */
export function cosine(from: number, floor = 0): Schedule {
  return (progress) => {
    const share = floor + (1 - floor) * 0.5 * (1 + Math.cos(Math.PI * Math.min(1, progress)));
    return from * share;
  };
}

/** Rises from 0 over the first share of the run, then follows `schedule`. */
export function warmup(share: number, schedule: Schedule): Schedule {
  return (progress) => scheduleAt(schedule, progress) * (share > 0 ? Math.min(1, (progress + 1e-3) / share) : 1);
}
