import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type CodeOutcome, codeRlReturn, testsScore } from "../scorer/code-rl.ts";
import { defaultSandbox } from "../tool/sandbox/default-sandbox.ts";
import type { TestLevel } from "../tool/sandbox/javascript-session.ts";
import {
  type JavaScriptTest,
  type JavaScriptTestReport,
  runJavaScriptTests,
} from "../tool/sandbox/javascript-tests.ts";
import type { JavaScriptTestLimits } from "../tool/sandbox/limits.ts";
import { processSandbox } from "../tool/sandbox/process-sandbox.ts";
import {
  type PythonTest,
  type PythonTestLimits,
  type PythonTestReport,
  runPythonTests,
} from "../tool/sandbox/python-tests.ts";
import { sandboxInfo } from "../tool/sandbox/require-level.ts";
import type { TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface CodeTestsOptions<Data, State> {
  tests: (task: Data) => readonly (JavaScriptTest | PythonTest)[];
  /** `javascript` by default. Every test of Python has an `expected`. */
  language?: "javascript" | "python";
  /** The program; the last fenced block of the answer by default, or the whole answer where it has none. */
  code?: TextOptions<Data, State>["text"];
  /** `share`: passed over all. `all`: 1 only where all pass. `code-rl`: −1, −0.6, −0.3 or 1 (arXiv 2207.01780). */
  credit?: "share" | "all" | "code-rl";
  limits?: Partial<JavaScriptTestLimits> | Partial<PythonTestLimits>;
  /** At which level the program runs: `namespace` by default, in boxes of bubblewrap. `process` keeps code from nothing that it wants to reach. */
  level?: TestLevel;
}

const knownCodeTestsOptions: KnownOptions<CodeTestsOptions<unknown, unknown>> = {
  tests: true,
  code: true,
  credit: true,
  limits: true,
  language: true,
  level: true,
};

/**
 * Runs the program that the policy wrote against tests in a box, which never sees what is expected, and what passed a second time. Give
 * the environment a `limits.envMs` above that of all tests.
 */
export function codeTests<Data, State = unknown>(options: CodeTestsOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("codeTests", options, knownCodeTestsOptions);
  const { tests, code = ({ answer }) => lastCodeBlock(answer), credit = "share", limits = {} } = options;
  const { language = "javascript", level = "namespace" } = options;
  refuseOtherValue("codeTests.language", language, ["javascript", "python"]);
  refuseOtherValue("codeTests.level", level, ["process", "namespace"]);
  const run = language === "python" ? runPython : runJavaScriptTests;
  return makeReward(
    async (episode) => {
      const wanted = tests(episode.task);
      if (wanted.length === 0) {
        throw new LudusError("no-tests", { got: "a task without tests", expected: "one test at least" });
      }
      const report = await run({ code: code(episode), tests: wanted, limits, level }, episode.signal);
      // tests that were not run say nothing about the program
      episode.signal.throwIfAborted();
      const outcome = credit === "code-rl" ? codeRlReturn(outcomeOf(report)) : testsScore(report, credit);
      return makeScore({ outcome }, report.passed === report.total);
    },
    {
      range: credit === "code-rl" ? [-1, 1] : [0, 1],
      sandboxes: [level === "process" ? { name: "process", level } : sandboxInfo(defaultSandbox())],
    },
  );
}

interface RunOptions {
  code: string;
  tests: readonly JavaScriptTest[];
  limits: Partial<PythonTestLimits>;
  level: TestLevel;
}

function runPython({ code, tests, limits, level }: RunOptions, signal: AbortSignal): Promise<PythonTestReport> {
  const wanted = tests.map((test): PythonTest => {
    if ("expected" in test) return { ...test, expected: test.expected };
    throw new LudusError("no-expected-value", {
      got: `test "${test.name}" without \`expected\``,
      expected: "the value that its expression must give",
      hint: "Move what is compared out of the expression: code can replace `==`, but not what it never sees.",
    });
  });
  const weaker = level === "process" ? { sandbox: processSandbox() } : {};
  return runPythonTests({ code, tests: wanted, limits, ...weaker }, signal);
}

/** As CodeRL reads many tests: the worst that happened. */
function outcomeOf({ compile, results }: Pick<JavaScriptTestReport, "compile" | "results">): CodeOutcome {
  if (compile === "error") return "compile-error";
  if (results.some(({ outcome }) => outcome === "error" || outcome === "timeout")) return "runtime-error";
  return results.every(({ outcome }) => outcome === "passed") ? "passed" : "failed-test";
}

/** What the last ``` block of a text holds; the text itself where there is none. A block that never closes ends with the text. */
export function lastCodeBlock(text: string): string {
  let last: string | undefined;
  let open: string[] | undefined;
  for (const line of text.split("\n")) {
    const isFence = line.trimStart().startsWith("```");
    if (isFence && open !== undefined) {
      last = open.join("\n");
      open = undefined;
    } else if (isFence) open = [];
    else open?.push(line);
  }
  return open?.join("\n") ?? last ?? text;
}
