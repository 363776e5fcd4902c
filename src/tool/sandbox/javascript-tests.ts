import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { toComparable } from "./comparable.ts";
import { confirmPassed } from "./confirm-passed.ts";
import { describeEnd } from "./describe-end.ts";
import { runSession, type SessionEnd, type TestLevel } from "./javascript-session.ts";
import type { JavaScriptTestsLine } from "./javascript-tests-lines.ts";
import { checkLimits, defaultJavaScriptTestLimits, type JavaScriptTestLimits } from "./limits.ts";
import type { End } from "./sandbox.ts";

export interface JavaScriptTest {
  name: string;
  /**
   * Evaluated after the code, in its global scope and in strict mode; a promise is awaited. Compare through `expected` rather than
   * here: the code may have replaced the built-ins that a comparison uses.
   */
  expression: string;
  /** What it must give, `true` if left out. It never enters the process that runs the code. */
  expected?: unknown;
}

export interface JavaScriptTestsOptions {
  /** A script, not a module: what it declares, or puts into `module.exports`, is what the expressions see. */
  code: string;
  tests: readonly JavaScriptTest[];
  limits?: Partial<JavaScriptTestLimits>;
  /** `namespace` by default, which needs bubblewrap. At `process` code that gets out of its realm can reach the network. */
  level?: TestLevel;
  /** Tests that passed are run once more, in another process; `true` by default. One that fails then is `flaky`. */
  confirm?: boolean;
}

const knownJavaScriptTestsOptions: KnownOptions<JavaScriptTestsOptions> = {
  code: true,
  tests: true,
  limits: true,
  level: true,
  confirm: true,
};

export interface JavaScriptTestResult {
  name: string;
  /** `failed`: another value; `flaky`: another value the second time; `error`: it threw, or ended the process. */
  outcome: "passed" | "failed" | "flaky" | "error" | "timeout" | "cancelled";
  message?: string;
  /** How the process ended, where the test ended it. */
  end?: End;
}

export interface JavaScriptTestReport {
  passed: number;
  total: number;
  results: JavaScriptTestResult[];
  /** `error`: the code could not be parsed, and no test was run. */
  compile: "ok" | "error";
}

/**
 * Runs code that a model wrote against tests, in a box of bubblewrap, in a process that has no environment, no files and no children, with
 * the language's built-ins and timers alone. Each test loads the code anew in a realm of its own. See `javascript-session.ts`
 * for what this does not keep out.
 *
 *     const report = await runJavaScriptTests({
 *       code: "const add = (a, b) => a + b",
 *       tests: [{ name: "small", expression: "add(1, 2)", expected: 3 }],
 *     });
 *     report.passed; // 1
 */
export async function runJavaScriptTests(
  options: JavaScriptTestsOptions,
  signal?: AbortSignal,
): Promise<JavaScriptTestReport> {
  refuseUnknownOptions("runJavaScriptTests", options, knownJavaScriptTestsOptions);
  const { confirm = true, level = "namespace" } = options;
  refuseOtherValue("runJavaScriptTests.level", level, ["process", "namespace"]);
  const report = await runOnce(options, level, signal);
  if (!confirm || report.passed === 0) return report;
  return await confirmPassed(report, options.tests, (tests) => runOnce({ ...options, tests }, level, signal));
}

async function runOnce(
  { code, tests, limits }: JavaScriptTestsOptions,
  level: TestLevel,
  signal: AbortSignal | undefined,
): Promise<JavaScriptTestReport> {
  const all = checkLimits({ ...defaultJavaScriptTestLimits, ...limits }, Object.keys(defaultJavaScriptTestLimits));
  const wanted = tests.map((test) => ("expected" in test ? toComparable(test.expected) : "true"));
  const results: JavaScriptTestResult[] = [];
  let compile: JavaScriptTestReport["compile"] = "ok";
  const fill = (result: Omit<JavaScriptTestResult, "name">) => {
    for (const { name } of tests.slice(results.length)) results.push({ name, ...result });
  };
  const onLine = (line: JavaScriptTestsLine) => {
    if (line.kind === "not-compiled") {
      compile = "error";
      fill({ outcome: "error", message: cut(line.message) });
    }
    const test = tests[results.length];
    if (line.kind !== "ended" || test === undefined) return;
    results.push({ name: test.name, ...judge(line.outcome, wanted[results.length]) });
  };

  const wall = new AbortController();
  const timer = setTimeout(() => wall.abort(), all.timeoutMs);
  const stop = signal === undefined ? wall.signal : AbortSignal.any([wall.signal, signal]);
  try {
    // once even without tests: whether the code can be parsed is worth knowing
    for (let first = true; (first || results.length < tests.length) && !stop.aborted; first = false) {
      const expressions = tests.slice(results.length).map(({ expression }) => expression);
      const end = await runSession({ level, code, expressions, limits: all, stop, onLine });
      const test = tests[results.length];
      const result = afterSession(end);
      // the test that ended the process is judged, and the rest go on in a new one
      if (test !== undefined && result !== undefined) results.push({ name: test.name, ...result });
    }
    if (signal?.aborted) fill({ outcome: "cancelled" });
    else fill({ outcome: "timeout", message: `all tests together took more than ${all.timeoutMs} ms` });
  } finally {
    clearTimeout(timer);
  }
  const passed = results.filter(({ outcome }) => outcome === "passed").length;
  return { passed, total: tests.length, results, compile };
}

type Evaluated = Extract<JavaScriptTestsLine, { kind: "ended" }>["outcome"];
type Judged = Omit<JavaScriptTestResult, "name">;

function judge(outcome: Evaluated, wanted: string): Judged {
  switch (outcome.kind) {
    case "gave":
      if (outcome.text === wanted) return { outcome: "passed" };
      return { outcome: "failed", message: `got ${cut(outcome.text)}, expected ${cut(wanted)}` };
    case "threw":
      return { outcome: "error", message: cut(outcome.text) };
    case "never-settles":
      return { outcome: "timeout", message: "the promise can never settle" };
    default:
      return outcome satisfies never;
  }
}

function afterSession(end: SessionEnd): Judged | undefined {
  switch (end.kind) {
    case "timeout":
      return { outcome: "timeout", message: describeEnd(end), end };
    case "out-of-memory":
    case "output-limit":
    case "exited":
    case "not-started":
      return { outcome: "error", message: describeEnd(end), end };
    case "finished":
    case "cancelled":
      return undefined;
    default:
      return end satisfies never;
  }
}

const cut = (text: string) => (text.length > 500 ? `${text.slice(0, 500)}...` : text);
