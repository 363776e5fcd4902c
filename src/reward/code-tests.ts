import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import { type CodeOutcome, codeRlReturn, testsScore } from "../scorer/code-rl.ts";
import {
  type JavaScriptTest,
  type JavaScriptTestReport,
  runJavaScriptTests,
} from "../tool/sandbox/javascript-tests.ts";
import type { JavaScriptTestLimits } from "../tool/sandbox/limits.ts";
import type { TextOptions } from "./episode-text.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward } from "./reward.ts";

export interface CodeTestsOptions<Data, State> {
  tests: (task: Data) => readonly JavaScriptTest[];
  /** The program; the last fenced block of the answer by default, or the whole answer where it has none. */
  code?: TextOptions<Data, State>["text"];
  /** `share`: passed over all. `all`: 1 only where all pass. `code-rl`: −1, −0.6, −0.3 or 1 (arXiv 2207.01780). */
  credit?: "share" | "all" | "code-rl";
  limits?: Partial<JavaScriptTestLimits>;
}

const knownCodeTestsOptions: KnownOptions<CodeTestsOptions<unknown, unknown>> = {
  tests: true,
  code: true,
  credit: true,
  limits: true,
};

/**
 * Runs the JavaScript that the policy wrote against tests in a process of its own, which never sees what is expected. Give
 * the environment a `limits.envMs` above that of all tests.
 */
export function codeTests<Data, State = unknown>(options: CodeTestsOptions<Data, State>): Reward<Data, State> {
  refuseUnknownOptions("codeTests", options, knownCodeTestsOptions);
  const { tests, code = ({ answer }) => lastCodeBlock(answer), credit = "share", limits = {} } = options;
  return makeReward(
    async (episode) => {
      const wanted = tests(episode.task);
      if (wanted.length === 0) {
        throw new LudusError("no-tests", { got: "a task without tests", expected: "one test at least" });
      }
      const report = await runJavaScriptTests({ code: code(episode), tests: wanted, limits }, episode.signal);
      // tests that were not run say nothing about the program
      episode.signal.throwIfAborted();
      const outcome = credit === "code-rl" ? codeRlReturn(outcomeOf(report)) : testsScore(report, credit);
      return makeScore({ outcome }, report.passed === report.total);
    },
    { range: credit === "code-rl" ? [-1, 1] : [0, 1] },
  );
}

/** As CodeRL reads many tests: the worst that happened. */
function outcomeOf({ compile, results }: JavaScriptTestReport): CodeOutcome {
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
