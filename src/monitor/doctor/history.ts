import type { RunEvent } from "../../schema/run-event.ts";
import type { RunView, SeriesPoint } from "./detector.ts";

/** Points of a series. Beyond them neighbours are joined, so that looking at the last step costs what looking at an early one did. */
const maxPoints = 1000;
/** Failures, warnings and the like; the oldest are dropped. */
const maxEvents = 4000;

/** One step, or several joined. */
interface JoinedPoint extends SeriesPoint {
  readonly count: number;
  /** Without the last step, for which another value may come. */
  readonly before: { readonly sum: number; readonly max: number };
}

/** The metrics of a run that goes on, as they come. What it holds does not grow with the length of the run. */
export class History implements RunView {
  readonly groups = [];
  readonly config: unknown;
  readonly events: RunEvent[] = [];
  readonly #series = new Map<string, JoinedPoint[]>();
  /** How many steps are joined into one point. */
  #width = 1;

  constructor(config: unknown) {
    this.config = config;
  }

  series(name: string): readonly SeriesPoint[] {
    return this.#series.get(name) ?? [];
  }

  add(event: RunEvent): void {
    if (event.type === "step-end" || event.type === "eval-end") {
      for (const [name, value] of Object.entries(event.metrics)) this.#point(name, event.step, value);
    } else {
      this.events.push(event);
      if (this.events.length > maxEvents) this.events.splice(0, maxEvents / 2);
    }
  }

  #point(name: string, step: number, value: number): void {
    const points = this.#series.get(name) ?? [];
    this.#series.set(name, points);
    const last = points.at(-1);
    if (last === undefined || this.#part(last.step) !== this.#part(step)) {
      points.push({ step, value, max: value, count: 1, before: { sum: 0, max: Number.NEGATIVE_INFINITY } });
      if (points.length > maxPoints) this.#widen();
      return;
    }
    // a metric has one value per step: the last that was said
    const isAgain = last.step === step;
    const before = isAgain ? last.before : { sum: last.value * last.count, max: last.max };
    const count = isAgain ? last.count : last.count + 1;
    points[points.length - 1] = {
      ...{ step, count, before },
      value: (before.sum + value) / count,
      max: larger(before.max, value),
    };
  }

  #part(step: number): number {
    return Math.floor(step / this.#width);
  }

  #widen(): void {
    this.#width *= 2;
    for (const [name, points] of this.#series) {
      const parts = Map.groupBy(points, ({ step }) => this.#part(step));
      this.#series.set(name, [...parts.values()].map(joined));
    }
  }
}

function joined(part: readonly JoinedPoint[]): JoinedPoint {
  if (part.length === 1) return part[0];
  const [a, b] = part as [JoinedPoint, JoinedPoint];
  const count = a.count + b.count;
  const before = { sum: a.value * a.count + b.before.sum, max: larger(a.max, b.before.max) };
  const value = (a.value * a.count + b.value * b.count) / count;
  return { step: b.step, value, max: larger(a.max, b.max), count, before };
}

/** Of two numbers; what is none does not hide the other. */
const larger = (a: number, b: number) => (Number.isNaN(a) ? b : Number.isNaN(b) ? a : Math.max(a, b));
