import { z } from "zod";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import { toComparable } from "./comparable.ts";
import { confirmPassed } from "./confirm-passed.ts";
import { defaultSandbox } from "./default-sandbox.ts";
import { describeEnd } from "./describe-end.ts";
import { checkLimits } from "./limits.ts";
import { pythonTestsProgram } from "./python-tests-program.ts";
import type { Ended, Sandbox } from "./sandbox.ts";

export interface PythonTest {
  name: string;
  /** Evaluated after the code, in its global names. Call the code here, and leave comparing to `expected`. */
  expression: string;
  /** What it must give; it never enters the box. Tuples are lists, sets are `{ $set: [...] }`, 2.0 is 2. */
  expected: unknown;
}

export interface PythonTestLimits {
  /** One test, with the code loaded anew for it. */
  testMs: number;
  /** All tests together. */
  timeoutMs: number;
  memoryMb: number;
  /** What one test gives, as text. */
  outputBytes: number;
}

export const defaultPythonTestLimits: Readonly<PythonTestLimits> = {
  testMs: 2_000,
  timeoutMs: 20_000,
  memoryMb: 512,
  outputBytes: 1 << 20,
};

export interface PythonTestsOptions {
  code: string;
  tests: readonly PythonTest[];
  limits?: Partial<PythonTestLimits>;
  /** Where the code runs; `bubblewrapSandbox()` by default. Its boxes need `python3`. */
  sandbox?: Sandbox;
  /** Tests that passed are run once more, with another hash seed; `true` by default. One that fails then is `flaky`. */
  confirm?: boolean;
}

const knownPythonTestsOptions: KnownOptions<PythonTestsOptions> = {
  code: true,
  tests: true,
  limits: true,
  sandbox: true,
  confirm: true,
};

export interface PythonTestResult {
  name: string;
  /** `failed`: another value; `flaky`: another value the second time; `error`: it threw, or ended its process. */
  outcome: "passed" | "failed" | "flaky" | "error" | "timeout" | "cancelled";
  message?: string;
}

export interface PythonTestReport {
  passed: number;
  total: number;
  results: PythonTestResult[];
  /** `error`: the code could not be parsed. */
  compile: "ok" | "error";
}

const text = z.string();
export const spokenOutcome = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("gave"), text }),
  z.object({ kind: z.literal("threw"), text }),
  z.object({ kind: z.literal("ended"), text }),
  z.object({ kind: z.literal("not-compiled"), text }),
  z.object({ kind: z.literal("timeout") }),
]);
const spokenLine = z.object({ test: z.number(), outcome: spokenOutcome });
export type SpokenOutcome = z.infer<typeof spokenOutcome>;

/**
 * Runs Python that a model wrote against tests, in a box. Values come out and are compared here, where the code has never been: it can
 * replace `==`, patch the runner or exit early, and all that it can change is the value it is said to give.
 *
 *     const report = await runPythonTests({
 *       code: "def add(a, b): return a + b",
 *       tests: [{ name: "small", expression: "add(1, 2)", expected: 3 }],
 *     });
 *     report.passed; // 1
 */
export async function runPythonTests(options: PythonTestsOptions, signal?: AbortSignal): Promise<PythonTestReport> {
  refuseUnknownOptions("runPythonTests", options, knownPythonTestsOptions);
  const { confirm = true } = options;
  const report = await runOnce(options, "1", signal);
  if (!confirm || report.passed === 0) return report;
  return await confirmPassed(report, options.tests, (tests) => runOnce({ ...options, tests }, "2", signal));
}

async function runOnce(
  { code, tests, limits, sandbox = defaultSandbox() }: PythonTestsOptions,
  hashSeed: string,
  signal: AbortSignal | undefined,
): Promise<PythonTestReport> {
  const all = checkLimits({ ...defaultPythonTestLimits, ...limits }, Object.keys(defaultPythonTestLimits));
  const { testMs, outputBytes, timeoutMs, memoryMb } = all;
  const runs = tests.map(({ expression }) => [null, expression]);
  const box = await sandbox.open({}, signal);
  let ended: Ended;
  try {
    ended = await box.exec("python3", {
      args: ["-S", "-c", pythonTestsProgram],
      env: { PYTHONHASHSEED: hashSeed },
      input: JSON.stringify({ code, runs, testMs, outputBytes }),
      limits: { timeoutMs, memoryMb, outputBytes: (outputBytes + 1_000) * (tests.length + 1) },
      ...(signal !== undefined && { signal }),
    });
  } finally {
    await box.close();
  }
  const said = readSaid(ended.stdout, tests.length);
  const results = tests.map((test, index) => ({ name: test.name, ...judge(said[index], test.expected, ended) }));
  return {
    passed: results.filter(({ outcome }) => outcome === "passed").length,
    total: tests.length,
    results,
    compile: said.some((outcome) => outcome?.kind === "not-compiled") ? "error" : "ok",
  };
}

/** The first answer for each test; a line that is none is passed over. */
export function readSaid(stdout: string, tests: number): readonly (SpokenOutcome | undefined)[] {
  const said: (SpokenOutcome | undefined)[] = Array.from({ length: tests }, () => undefined);
  for (const line of stdout.split("\n")) {
    const read = spokenLine.safeParse(parsed(line));
    if (read.success && read.data.test in said) said[read.data.test] ??= read.data.outcome;
  }
  return said;
}

function judge(said: SpokenOutcome | undefined, expected: unknown, ended: Ended): Omit<PythonTestResult, "name"> {
  switch (said?.kind) {
    case undefined:
      if (ended.kind === "cancelled") return { outcome: "cancelled" };
      return { outcome: ended.kind === "timeout" ? "timeout" : "error", message: describeEnd(ended) };
    case "gave": {
      const [got, wanted] = [canonical(parsed(said.text)), canonical(expected)];
      if (got === wanted) return { outcome: "passed" };
      return { outcome: "failed", message: `got ${cut(said.text)}, expected ${cut(wanted)}` };
    }
    case "timeout":
      return { outcome: "timeout", message: "it took too long" };
    case "threw":
    case "ended":
    case "not-compiled":
      return { outcome: "error", message: cut(said.text) };
    default:
      return said satisfies never;
  }
}

/** Text in which equal values are equal: sets in one order. */
function canonical(value: unknown): string {
  return toComparable(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, part]): [string, unknown] => [key, sorted(part)]);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] === "$set" && Array.isArray(only[1])) {
    return { $set: only[1].map(toComparable).sort() };
  }
  return Object.fromEntries(entries);
}

export function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

const cut = (long: string) => (long.length > 500 ? `${long.slice(0, 500)}...` : long);
