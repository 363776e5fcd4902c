import { studentQuantile, studentTail } from "../eval/student.ts";
import { createRng } from "../random.ts";
import { mean } from "../statistics.ts";

/**
 * Something a paper says, as a comparison of two arms. Those of the shipped recipes are written down and committed before the recipe runs, and stay as they are:
 * `test/claims.test.ts` compares them with their first version.
 */
export interface Claim {
  /** What is published, in one sentence. */
  readonly statement: string;
  /** Where. */
  readonly source: string;
  /** That this arm has more, or less, of a measure than that one. */
  readonly method: string;
  readonly baseline: string;
  readonly measure: string;
  readonly want: "more" | "less";
  /** The smallest difference of interest: less than that is no effect, however certain. */
  readonly smallest: number;
}

/** What one arm of one seed came to; a line of the file that `ludus recipe run` keeps. */
export interface ArmRecord {
  readonly seed: number;
  readonly arm: string;
  readonly measures: Readonly<Record<string, number>>;
  /** The same by held-out task, of measures that are means over tasks. */
  readonly tasks?: Readonly<Record<string, TaskValues>>;
  readonly curves?: Readonly<Record<string, readonly number[]>>;
  readonly seconds: number;
  /** When, where, from which sources and with which model it was made; records of earlier versions say less. */
  readonly about?: Readonly<Record<string, string | number>>;
}

export interface TaskValues {
  /** Which tasks: two lists are of the same tasks, in the same order, where this is equal. */
  readonly of: string;
  readonly values: readonly number[];
}

export interface Verdict {
  readonly claim: Claim;
  readonly seeds: number;
  /** Method less baseline: the mean over seeds, with a 95 % interval. */
  readonly effect: number;
  readonly low: number;
  readonly high: number;
  /** That chance alone gives so much in the wanted direction, by Holm's correction for all claims of the recipe. */
  readonly p: number;
  readonly holds: boolean;
  /** Why not, where it does not. */
  readonly because?: string;
}

/** With fewer nothing is decided. */
export const leastSeeds = 5;
const mostChance = 0.05;
const replicates = 4000;

/**
 * Whether claims hold. Arms of a seed start from the same weights and are evaluated on the same tasks, so what is looked at is their difference,
 * seed by seed and task by task: seeds and tasks are drawn anew together (a paired bootstrap), and the deviation that gives is taken with Student's
 * t for the number of seeds, which is small. A claim holds where its corrected p is below 0.05 and the effect at least the smallest of interest.
 */
export function judgeClaims(claims: readonly Claim[], records: readonly ArmRecord[]): Verdict[] {
  const judged = claims.map((claim) => ({ claim, ...effectOf(claim, records) }));
  const corrected = holm(judged.map(({ p }) => p));
  return judged.map((each, i) => {
    const because = objection(each.claim, { ...each, p: corrected[i] });
    return { ...each, p: corrected[i], holds: because === undefined, ...(because === undefined ? {} : { because }) };
  });
}

function objection(claim: Claim, { effect, seeds, p }: Pick<Verdict, "effect" | "seeds" | "p">): string | undefined {
  const wanted = claim.want === "more" ? effect : -effect;
  if (seeds < leastSeeds) return `${seeds} of at least ${leastSeeds} seeds`;
  if (!(wanted > 0)) return "the difference is in the other direction";
  if (wanted < claim.smallest) return `the difference is below ${claim.smallest}, the smallest of interest`;
  return p < mostChance ? undefined : `p is ${p.toFixed(3)} after correction`;
}

type Effect = Pick<Verdict, "seeds" | "effect" | "low" | "high" | "p">;

function effectOf(claim: Claim, records: readonly ArmRecord[]): Effect {
  const differences = pairs(claim, records);
  const seeds = differences.length;
  const effect = seeds === 0 ? 0 : mean(differences.map((tasks) => mean(tasks)));
  if (seeds < 2) return { seeds, effect, low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, p: 1 };
  // drawing n from n seeds gives a deviation that is too small by this factor
  const error = bootstrapDeviation(differences) * Math.sqrt(seeds / (seeds - 1));
  const reach = studentQuantile(0.975, seeds - 1) * error;
  const wanted = claim.want === "more" ? effect : -effect;
  // without any deviation, all that is known is that so many seeds agree
  const p = error > 0 ? studentTail(wanted / error, seeds - 1) : wanted > 0 ? 0.5 ** seeds : 1;
  return { seeds, effect, low: effect - reach, high: effect + reach, p };
}

/** By seed: the difference at each task, or one difference where a measure has no tasks. */
function pairs({ method, baseline, measure }: Claim, records: readonly ArmRecord[]): number[][] {
  const find = (arm: string, seed: number) => records.find((record) => record.arm === arm && record.seed === seed);
  const seeds = [...new Set(records.map(({ seed }) => seed))].sort((a, b) => a - b);
  const found = seeds.flatMap((seed) => {
    const [ours, theirs] = [find(method, seed), find(baseline, seed)];
    return ours === undefined || theirs === undefined ? [] : [[ours, theirs] as const];
  });
  return differences(
    found.filter((pair) => pair.every(({ measures }) => measures[measure] !== undefined)),
    measure,
  );
}

function differences(found: readonly (readonly [ArmRecord, ArmRecord])[], measure: string): number[][] {
  const isByTask = found.every(([ours, theirs]) => {
    const [a, b] = [ours.tasks?.[measure], theirs.tasks?.[measure]];
    return a !== undefined && a.of === b?.of && a.of === found[0][0].tasks?.[measure]?.of;
  });
  return found.map(([ours, theirs]) => {
    if (!isByTask) return [ours.measures[measure] - theirs.measures[measure]];
    const other = theirs.tasks![measure].values;
    return ours.tasks![measure].values.map((value, i) => value - other[i]);
  });
}

/** Of the mean over seeds and tasks, both drawn anew; tasks are the same for all seeds. */
function bootstrapDeviation(differences: readonly (readonly number[])[]): number {
  const rng = createRng(1);
  const [seeds, tasks] = [differences.length, differences[0].length];
  const drawn = Array.from({ length: replicates }, () => {
    const counts = new Float64Array(tasks);
    for (let i = 0; i < tasks; i++) counts[rng.integer(tasks)]++;
    let total = 0;
    for (let i = 0; i < seeds; i++) {
      const row = differences[rng.integer(seeds)];
      for (let t = 0; t < tasks; t++) total += counts[t] * row[t];
    }
    return total / (seeds * tasks);
  });
  const middle = mean(drawn);
  return Math.sqrt(mean(drawn.map((value) => (value - middle) ** 2)));
}

/** Holm's step-down correction: each p times the number of hypotheses that are no more certain than it. */
export function holm(values: readonly number[]): number[] {
  const order = values.map((_, i) => i).sort((a, b) => values[a] - values[b]);
  const corrected = new Array<number>(values.length);
  let largest = 0;
  for (const [rank, index] of order.entries()) {
    largest = Math.max(largest, Math.min(1, values[index] * (values.length - rank)));
    corrected[index] = largest;
  }
  return corrected;
}
