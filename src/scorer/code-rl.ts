/** How a program fared against its unit tests. */
export type CodeOutcome = "compile-error" | "runtime-error" | "failed-test" | "passed";

const returns: Record<CodeOutcome, number> = {
  "compile-error": -1,
  "runtime-error": -0.6,
  "failed-test": -0.3,
  passed: 1,
};

/** CodeRL's return of a program (arXiv 2207.01780). */
export function codeRlReturn(outcome: CodeOutcome): number {
  return returns[outcome];
}

/** Passed tests over all (`share`), or 1 only where all pass (`all`). 0 without tests. */
export function testsScore({ passed, total }: { passed: number; total: number }, credit: "share" | "all"): number {
  if (total === 0) return 0;
  return credit === "share" ? passed / total : Number(passed === total);
}
