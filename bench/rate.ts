import type { TimedRun } from "./child/protocol.ts";
import { median } from "./statistics.ts";
import { formatNumber } from "./table.ts";

/** Tokens per second, the median of runs. */
export function medianRate(runs: readonly TimedRun[]): number {
  return median(runs.map(({ tokens, seconds }) => tokens / seconds));
}

/** Cores that other processes kept busy while something was timed, on average. */
export function meanCoresOfOthers(runs: readonly TimedRun[]): number {
  const seconds = runs.reduce((sum, run) => sum + run.seconds, 0);
  return runs.reduce((sum, run) => sum + (run.coresOfOthers ?? 0) * run.seconds, 0) / seconds;
}

/** For a line of progress; says so when others were in the way. */
export function describeRate(runs: readonly TimedRun[]): string {
  const others = meanCoresOfOthers(runs);
  const disturbed = others > 0.2 ? `, while other processes used ${others.toFixed(1)} cores` : "";
  return `${formatNumber(medianRate(runs))} tokens/s${disturbed}`;
}
