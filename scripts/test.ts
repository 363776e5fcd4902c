// Runs vitest and adds what vitest cannot know: which suites were left out, and the count on one plain line.
//
//     npm test                    everything but the slow tests
//     npm test -- src/tensor -u   any vitest arguments
//     npm run test:fast           only tests that need nothing but this folder
//     npm run test:slow           only *.slow.test.ts, with the Python and the browser of the others

import { spawnSync } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestCounts } from "./count-reporter.ts";
import { findBrowser } from "./find-browser.ts";
import { findPython } from "./find-python.ts";
import { slowLeftOut, slowSuites } from "./slow-left-out.ts";

const root = join(import.meta.dirname, "..");
const flags = ["--fast", "--slow"];
const args = process.argv.slice(2);

function main(): TestCounts {
  if (args.includes("--fast")) return runVitest(["--project", "unit", "--project", "dashboard"], {});

  const isSlow = args.includes("--slow");
  const suites = [pythonSuites(), browserSuites()];
  const useless = suites.filter(({ search }) => !search.found && search.chosen);
  for (const { variable, name, search, remedy } of useless) {
    const reason = search.found ? "" : search.reason;
    console.error(`${variable} cannot run the ${name} suites: ${reason}. Unset it, or ${remedy}.`);
  }
  if (useless.length > 0) return { passed: 0, failed: useless.length };
  const programs = Object.fromEntries(suites.map(({ variable, program }) => [variable, program]));
  if (isSlow) {
    const counts = runVitest(["--passWithNoTests"], { ...programs, LUDUS_SLOW: "1" });
    const leftOut = slowLeftOut(root, { ...process.env, ...programs });
    if (leftOut !== "") console.log(leftOut);
    return counts;
  }
  const counts = runVitest([], programs);
  if (args.length === 0) {
    console.log(`Left out: the slow suites ${slowSuites(root).join(", ")}. To run them: npm run test:slow.`);
  }
  const leftOut = suites.map(reportLeftOut).reduce((sum, each) => sum + each, 0);
  return { ...counts, failed: counts.failed + leftOut };
}

/** Suites that need a program which may not be there. */
interface Suites {
  readonly name: string;
  readonly pattern: string;
  readonly variable: string;
  readonly search: { found: true } | { found: false; chosen: boolean; reason: string };
  readonly program: string;
  readonly remedy: string;
  /** Set in CI: leaving them out is a failure. */
  readonly isRequired: string;
}

function pythonSuites(): Suites {
  const search = findPython(root, process.env.LUDUS_PYTHON || undefined);
  return {
    name: "Python",
    pattern: "parity",
    variable: "LUDUS_PYTHON",
    isRequired: "LUDUS_REQUIRE_PYTHON",
    search,
    program: search.found ? search.python : "",
    remedy: "run scripts/setup-python.sh",
  };
}

function browserSuites(): Suites {
  const search = findBrowser(process.env.LUDUS_BROWSER || undefined);
  return {
    name: "browser",
    pattern: "browser",
    variable: "LUDUS_BROWSER",
    isRequired: "LUDUS_REQUIRE_BROWSER",
    search,
    program: search.found ? search.browser : "",
    remedy: "install chromium-headless-shell",
  };
}

/** Says in one line what was left out and how to get it. Returns how many failures that is. */
function reportLeftOut({ name, pattern, search, remedy, isRequired }: Suites): number {
  if (search.found) return 0;
  const suites = globSync(`{src,test}/**/*.${pattern}.test.ts`, { cwd: root }).sort();
  if (suites.length === 0) return 0;
  const isFailure = process.env[isRequired] === "1";
  const required = isFailure ? `, though ${isRequired} is set` : "";
  console.log(
    `Left out${required}: the ${name} suites ${suites.join(", ")}; ${search.reason}. To run them: ${remedy}, once.`,
  );
  return isFailure ? suites.length : 0;
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
