import { LudusError } from "../errors.ts";

export interface CompositeOptions {
  /** Name to weight; a negative weight makes a part a cost. */
  weights: Readonly<Record<string, number>>;
  /** What a part can be; [0, 1] by default. */
  ranges?: Readonly<Record<string, readonly [low: number, high: number]>>;
  /** The part that says whether the task was done. */
  outcome?: string;
}

export interface CompositeScore {
  total: number;
  /** What each part adds to the total: its weight times its value. */
  parts: Record<string, number>;
}

export interface Composite {
  /** Problems with the weights, found when the composite is made. */
  readonly warnings: readonly string[];
  score(values: Readonly<Record<string, number>>): CompositeScore;
}

const rounding = 1e-9;

/**
 * A weighted sum that keeps its parts:
 *
 *     const { score, warnings } = createComposite({ weights: { outcome: 1, format: 0.2, length: -0.05 } });
 *     score({ outcome: 1, format: 1, length: 1 }); // total 1.15
 */
export function createComposite({ weights, ranges = {}, outcome = "outcome" }: CompositeOptions): Composite {
  const names = Object.keys(weights);
  for (const name of [outcome, ...Object.keys(ranges)]) {
    if (Object.hasOwn(weights, name)) continue;
    throw new LudusError("unknown-reward-part", { got: `"${name}"`, expected: `one of ${names.join(", ")}` });
  }
  const rangeOf = (name: string) => (Object.hasOwn(ranges, name) ? ranges[name] : ([0, 1] as const));
  const swing = (name: string) => Math.abs(weights[name]) * (rangeOf(name)[1] - rangeOf(name)[0]);
  const share = swing(outcome) / names.reduce((sum, name) => sum + swing(name), 0);
  const warnings: string[] = [];
  if (!(share >= 0.5)) {
    const percent = Math.round(100 * (Number.isNaN(share) ? 0 : share));
    warnings.push(
      `"${outcome}" makes up ${percent} % of the attainable reward; below half, the policy may learn the other parts instead. Raise its weight or lower the others.`,
    );
  }
  return { warnings, score: (values) => weigh(values, weights, rangeOf) };
}

function weigh(
  values: Readonly<Record<string, number>>,
  weights: Readonly<Record<string, number>>,
  rangeOf: (name: string) => readonly [number, number],
): CompositeScore {
  const names = Object.keys(weights);
  const stray = Object.keys(values).find((name) => !Object.hasOwn(weights, name));
  if (stray !== undefined) {
    throw new LudusError("unknown-reward-part", { got: `"${stray}"`, expected: `one of ${names.join(", ")}` });
  }
  const parts: Record<string, number> = {};
  let total = 0;
  for (const name of names) {
    const value = Object.hasOwn(values, name) ? values[name] : Number.NaN;
    const [low, high] = rangeOf(name);
    // sums of the same numbers in another order may differ in the last bits
    if (!(value >= low - rounding && value <= high + rounding)) {
      throw new LudusError("reward-part-out-of-range", {
        got: `${name} = ${value}`,
        expected: `a number from ${low} to ${high}`,
        hint: "Give the part's true range in `ranges`.",
      });
    }
    parts[name] = weights[name] * value;
    total += parts[name];
  }
  return { total, parts };
}
