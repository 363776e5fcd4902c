interface NamedResult {
  readonly name: string;
  readonly outcome: string;
  readonly message?: string;
}

interface Report<Result extends NamedResult> {
  passed: number;
  total: number;
  results: Result[];
}

/** Runs what passed once more. A test that passes by chance, or by the order of a hash table, does not always pass twice. */
export async function confirmPassed<Test, Result extends NamedResult, Given extends Report<Result>>(
  report: Given & Report<Result>,
  tests: readonly Test[],
  runAgain: (tests: readonly Test[]) => Promise<Report<Result>>,
): Promise<Given> {
  const passed = [...report.results.keys()].filter((index) => report.results[index]!.outcome === "passed");
  const again = await runAgain(passed.map((index) => tests[index]!));
  const results = [...report.results];
  for (const [place, index] of passed.entries()) {
    const second = again.results[place]!;
    if (second.outcome === "passed") continue;
    const { name } = results[index]!;
    results[index] =
      second.outcome === "cancelled"
        ? second
        : ({ name, outcome: "flaky", message: `it passed, and then: ${second.message ?? second.outcome}` } as Result);
  }
  return { ...report, results, passed: results.filter(({ outcome }) => outcome === "passed").length };
}
