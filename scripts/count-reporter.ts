import { writeFileSync } from "node:fs";
import type { Reporter, SerializedError, TestModule } from "vitest/node";

export interface TestCounts {
  passed: number;
  failed: number;
}

/** A vitest reporter that only counts, into the file that `LUDUS_TEST_COUNTS` names. */
export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    const file = process.env.LUDUS_TEST_COUNTS;
    if (file) writeFileSync(file, JSON.stringify(countTests(modules, errors)));
  }
}

/** What failed outside a test counts as one failure each: a file that did not load, an error nobody caught. */
export function countTests(modules: readonly TestModule[], errors: readonly unknown[]): TestCounts {
  const counts = { passed: 0, failed: errors.length };
  for (const module of modules) {
    const states = Array.from(module.children.allTests(), (test) => test.result().state);
    const failed = states.filter((state) => state === "failed").length;
    counts.passed += states.filter((state) => state === "passed").length;
    counts.failed += failed === 0 && !module.ok() ? 1 : failed;
  }
  return counts;
}
