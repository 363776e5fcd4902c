import { LudusError } from "../errors.ts";
import { type Interval, meanInterval } from "../eval/interval.ts";
import { type ArmRecord, judgeClaims, leastSeeds, type Verdict } from "./claim.ts";
import type { Recipe } from "./recipe.ts";

export interface RecipeResult {
  readonly system: string;
  readonly title: string;
  readonly measures: Readonly<Record<string, string>>;
  readonly records: readonly ArmRecord[];
  /** One for each claim, in their order. */
  readonly verdicts: readonly Verdict[];
}

export function summarise({ system, title, measures, claims }: Recipe, records: readonly ArmRecord[]): RecipeResult {
  const wrong = claims.find(({ measure }) => !Object.hasOwn(measures, measure));
  if (wrong !== undefined) {
    throw new LudusError("not-measured", {
      got: `a claim of ${system} about "${wrong.measure}"`,
      expected: `one of what it measures: ${Object.keys(measures).join(", ")}`,
    });
  }
  return { system, title, measures, records, verdicts: judgeClaims(claims, records) };
}

/** The one object that `ludus recipe run --json` prints last. */
export function shortResult({ system, records, verdicts }: RecipeResult) {
  return {
    system,
    claims: verdicts.map(({ claim, effect, low, high, p, holds, because }) => ({
      claim: claim.statement,
      ...{ effect: rounded(effect), low: rounded(low), high: rounded(high), p: rounded(p), holds },
      ...(because === undefined ? {} : { because }),
    })),
    held: verdicts.filter(({ holds }) => holds).length,
    of: verdicts.length,
    seeds: seedsOf(records).length,
    seconds: Math.round(records.reduce((sum, { seconds }) => sum + seconds, 0)),
  };
}

/** Infinite bounds, of a single seed, are null in JSON. */
function rounded(value: number): number {
  return Math.round(value * 1e4) / 1e4;
}

export function seedsOf(records: readonly ArmRecord[]): number[] {
  return [...new Set(records.map(({ seed }) => seed))].sort((a, b) => a - b);
}

/** Rows of cells: a heading, then each arm with the mean and interval of each measure over the seeds it has. */
export function resultTable({ measures, records }: Pick<RecipeResult, "measures" | "records">): string[][] {
  const arms = [...new Set(records.map(({ arm }) => arm))];
  const keys = Object.keys(measures);
  return [
    ["", ...keys.map((key) => measures[key])],
    ...arms.map((arm) => [arm, ...keys.map((key) => cell(intervalOf(records, arm, key)))]),
  ];
}

/** Mean over seeds with its 95 % interval; undefined where nothing was measured. */
export function intervalOf(records: readonly ArmRecord[], arm: string, measure: string): Interval | undefined {
  const values = records.filter((record) => record.arm === arm).flatMap(({ measures }) => measures[measure] ?? []);
  return values.length === 0 ? undefined : meanInterval(values);
}

function cell(interval: Interval | undefined): string {
  if (interval === undefined) return "";
  const { mean, low, high } = interval;
  const digits = Math.abs(mean) >= 100 ? 0 : Math.abs(mean) >= 10 ? 1 : 2;
  const text = (value: number) => value.toFixed(digits);
  return Number.isFinite(low) ? `${text(mean)} [${text(low)}, ${text(high)}]` : text(mean);
}

/** A verdict in words, such as `Masks help. masked − unmasked, success: 0.63 [0.50, 0.76]: holds`. */
export function verdictText({ claim, effect, low, high, seeds, holds, because }: Verdict): string {
  const { statement, method, baseline, measure } = claim;
  const what = `${statement} ${method} − ${baseline}, ${measure}`;
  if (seeds === 0) return `${what}: not run yet`;
  const bounds = Number.isFinite(low) ? ` [${low.toFixed(2)}, ${high.toFixed(2)}]` : "";
  const verdict = holds ? "holds" : `${seeds < leastSeeds ? "not decided" : "does not hold"}, ${because}`;
  return `${what}: ${effect.toFixed(2)}${bounds}: ${verdict}`;
}
