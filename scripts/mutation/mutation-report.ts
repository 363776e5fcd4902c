import type { EquivalentMutant } from "./equivalent-mutants.ts";

/** A mutant that was tested. `original` and `replacement` are on one line, with single spaces. */
export interface TestedMutant {
  readonly file: string;
  /** From 1. */
  readonly line: number;
  /** The whole line of the source, trimmed: it tells apart mutants whose `original` occurs more than once. */
  readonly lineText: string;
  readonly original: string;
  readonly replacement: string;
  readonly outcome: Outcome;
}

/** `no-coverage` survived too: no test executes it. `invalid` could not be run and does not count. */
export type Outcome = "killed" | "timeout" | "survived" | "no-coverage" | "invalid";

export interface MutationReport {
  readonly killed: number;
  readonly timeout: number;
  readonly survived: number;
  /** Survivors that no test could kill, from the list; not part of the score. */
  readonly equivalent: number;
  readonly invalid: number;
  /** Percent of mutants that a test noticed, by a failure or by a timeout. 100 where there are none. */
  readonly score: number;
  readonly survivors: readonly TestedMutant[];
  /** Most are loops that never end; on a busy machine some may be tests that were only slow. */
  readonly timeouts: readonly TestedMutant[];
  /** Entries of the list for a tested file that match no survivor: the code changed, or a test kills them now. */
  readonly stale: readonly EquivalentMutant[];
}

export function mutationReport(
  mutants: readonly TestedMutant[],
  equivalents: readonly EquivalentMutant[],
): MutationReport {
  const count = (outcome: Outcome) => mutants.filter((mutant) => mutant.outcome === outcome).length;
  const alive = mutants.filter(({ outcome }) => outcome === "survived" || outcome === "no-coverage");
  const survivors = alive.filter((mutant) => !equivalents.some((entry) => isEquivalent(mutant, entry)));
  const noticed = count("killed") + count("timeout");
  const total = noticed + survivors.length;
  const files = new Set(mutants.map(({ file }) => file));
  return {
    killed: count("killed"),
    timeout: count("timeout"),
    survived: survivors.length,
    equivalent: alive.length - survivors.length,
    invalid: count("invalid"),
    score: total === 0 ? 100 : (100 * noticed) / total,
    survivors,
    timeouts: mutants.filter(({ outcome }) => outcome === "timeout"),
    stale: equivalents.filter((entry) => files.has(entry.file) && !alive.some((mutant) => isEquivalent(mutant, entry))),
  };
}

function isEquivalent(mutant: TestedMutant, { file, original, replacement, line }: EquivalentMutant): boolean {
  return (
    mutant.file === file &&
    mutant.original === original &&
    mutant.replacement === replacement &&
    (line === undefined || mutant.lineText === line)
  );
}

/** `src/credit/gae.ts:42: criticLambda === settings.lambda -> false` */
export function survivorLine({ file, line, original, replacement, outcome }: TestedMutant): string {
  const note = outcome === "no-coverage" ? " (no test executes it)" : "";
  return `${file}:${line}: ${shorten(original)} -> ${shorten(replacement)}${note}`;
}

export function summaryLine(report: MutationReport): string {
  const { killed, survived, timeout, equivalent, score } = report;
  return `${killed} killed, ${timeout} timed out, ${survived} survived, ${equivalent} equivalent: score ${score.toFixed(1)} %`;
}

export function onOneLine(code: string): string {
  return code.replace(/\s+/g, " ").trim();
}

const longest = 100;

function shorten(code: string): string {
  return code.length <= longest ? code : `${code.slice(0, longest - 1)}…`;
}
