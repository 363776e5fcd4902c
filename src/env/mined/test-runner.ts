import { describeEnd } from "../../tool/sandbox/describe-end.ts";
import { requireOwnProcesses } from "../../tool/sandbox/require-level.ts";
import type { Sandbox } from "../../tool/sandbox/sandbox.ts";
import { nodeReporter, pythonRunner } from "./test-programs.ts";

export interface TestCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** How the tests of a repository are run. */
export interface TestRunner {
  readonly name: string;
  /** Whether a file holds tests, by its path in the repository. */
  isTest(path: string): boolean;
  /** The command, run in the repository's root. It prints a line of JSON, `{"test": name, "passed": boolean}`, for each test. */
  command(tests: readonly string[]): TestCommand;
  /** What the policy's own runs of the tests are made with, without `files`; `command` by default. It exits with 0 where all pass. */
  shown?(tests: readonly string[]): TestCommand;
  /** Put beside the repository, as `../<path>` of its root. */
  readonly files?: Readonly<Record<string, string>>;
}

/** `test_*.py`, `*_test.py` and `tests.py`: functions `test*` without parameters, and `unittest`. Each test is a process of its own. */
export const pythonTestRunner: TestRunner = {
  name: "python",
  isTest: (path) => /(^|\/)(test_[^/]*|[^/]*_test|tests)\.py$/.test(path),
  command: (tests) => ({ command: "python3", args: ["-c", pythonRunner, ...tests] }),
};

/** `*.test.js`, `*.test.mjs`, `*.test.cjs`, `test.js` and JavaScript below `test/`, with `node --test`. */
export const nodeTestRunner: TestRunner = {
  name: "node",
  isTest: (path) => /(\.test|(^|\/)test)\.[cm]?js$|(^|\/)tests?\/[^.][^/]*\.[cm]?js$/.test(path),
  command: (tests) => ({
    command: "node",
    args: ["--test", "--test-reporter=../reporter.mjs", "--test-reporter-destination=stdout", ...tests],
  }),
  shown: (tests) => ({ command: "node", args: ["--test", ...tests] }),
  files: { "reporter.mjs": nodeReporter },
};

export interface TestRunLimits {
  /** All tests of one run. */
  readonly timeoutMs: number;
  readonly memoryMb: number;
}

export interface TestRun {
  /** Whether each test passed, by name. */
  readonly passed: ReadonlyMap<string, boolean>;
  /** Why nothing is known of tests that are not there: a limit, an error on import. */
  readonly problem?: string;
}

interface TestRunOptions {
  readonly sandbox: Sandbox;
  readonly limits: TestRunLimits;
  readonly hashSeed: string;
  readonly signal?: AbortSignal | undefined;
}

const outputBytes = 4 << 20;

/** Runs all files of tests among `files` in a box of their own. */
export async function runTestFiles(
  files: Readonly<Record<string, string>>,
  runner: TestRunner,
  { sandbox, limits, hashSeed, signal }: TestRunOptions,
): Promise<TestRun> {
  requireOwnProcesses(sandbox, "runTestFiles");
  const tests = Object.keys(files).filter((path) => runner.isTest(path));
  if (tests.length === 0) return { passed: new Map(), problem: "there are no tests" };
  const placed = Object.entries(files).map(([path, text]) => [`repository/${path}`, text]);
  const box = await sandbox.open({ files: { ...runner.files, ...Object.fromEntries(placed) } }, signal);
  try {
    const { command, args } = runner.command(tests);
    const ended = await box.exec(command, {
      args,
      cwd: "repository",
      env: { PYTHONHASHSEED: hashSeed, PYTHONDONTWRITEBYTECODE: "1" },
      limits: { ...limits, outputBytes },
      ...(signal !== undefined && { signal }),
    });
    signal?.throwIfAborted();
    const passed = readResults(ended.stdout);
    if (ended.kind === "exited" && passed.size > 0) return { passed };
    const told = ended.stderr.trim().split("\n").at(-1) || describeEnd(ended);
    return { passed, problem: ended.kind === "exited" ? told : describeEnd(ended) };
  } finally {
    await box.close();
  }
}

/** A test that is told twice passed only where it passed each time. */
function readResults(stdout: string): Map<string, boolean> {
  const passed = new Map<string, boolean>();
  for (const line of stdout.split("\n")) {
    const read = readLine(line);
    if (read !== undefined) passed.set(read.test, read.passed && passed.get(read.test) !== false);
  }
  return passed;
}

function readLine(line: string): { readonly test: string; readonly passed: boolean } | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const { test, passed }: Record<string, unknown> = JSON.parse(line);
    return typeof test === "string" && typeof passed === "boolean" ? { test, passed } : undefined;
  } catch {
    return undefined;
  }
}
