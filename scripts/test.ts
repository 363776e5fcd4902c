// Runs vitest and adds what vitest cannot know: which Python suites were left out, and the count on one plain line.
//
//     npm test                    everything but the slow tests
//     npm test -- src/tensor -u   any vitest arguments
//     npm run test:fast           only tests that need nothing but this folder
//     npm run test:slow           only *.slow.test.ts

import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestCounts } from "./count-reporter.ts";
import { findPython } from "./find-python.ts";

const root = join(import.meta.dirname, "..");
const flags = ["--fast", "--slow"];
const args = process.argv.slice(2);

function main(): TestCounts {
  if (args.includes("--fast")) return runVitest(["--project", "unit"], {});
  if (args.includes("--slow")) return runVitest(["--passWithNoTests"], { LUDUS_SLOW: "1" });

  const search = findPython(root, process.env.LUDUS_PYTHON || undefined);
  if (search.found) return runVitest([], { LUDUS_PYTHON: search.python });
  if (search.chosen) {
    console.error(
      `LUDUS_PYTHON cannot run the Python suites: ${search.reason}. Unset it, or run scripts/setup-python.sh.`,
    );
    return { passed: 0, failed: 1 };
  }
  const counts = runVitest([], { LUDUS_PYTHON: "" });
  return { ...counts, failed: counts.failed + reportLeftOut(search.reason) };
}

/** Says in one line what was left out and how to get it. Returns how many failures that is. */
function reportLeftOut(reason: string): number {
  const suites = globSync("{src,test}/**/*.parity.test.ts", { cwd: root }).sort();
  if (suites.length === 0) return 0;
  const isRequired = process.env.LUDUS_REQUIRE_PYTHON === "1";
  const required = isRequired ? ", though LUDUS_REQUIRE_PYTHON is set" : "";
  console.log(
    `Left out${required}: the Python suites ${suites.join(", ")}; ${reason}. To run them: scripts/setup-python.sh, once.`,
  );
  return isRequired ? suites.length : 0;
}

function runVitest(extra: readonly string[], env: Record<string, string>): TestCounts {
  const folder = mkdtempSync(join(tmpdir(), "ludus-test-"));
  try {
    const countsFile = join(folder, "counts.json");
    const vitest = join(root, "node_modules/vitest/vitest.mjs");
    const reporters = ["--reporter=default", "--reporter=./scripts/count-reporter.ts"];
    const passedOn = args.filter((arg) => !flags.includes(arg));
    const { status } = spawnSync(process.execPath, [vitest, "run", ...reporters, ...extra, ...passedOn], {
      cwd: root,
      env: { ...process.env, ...env, LUDUS_TEST_COUNTS: countsFile },
      stdio: "inherit",
    });
    // vitest that stops before it has run anything writes no counts
    const counts: TestCounts = existsSync(countsFile)
      ? JSON.parse(readFileSync(countsFile, "utf8"))
      : { passed: 0, failed: 0 };
    return status === 0 ? counts : { ...counts, failed: Math.max(1, counts.failed) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const { passed, failed } = main();
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
