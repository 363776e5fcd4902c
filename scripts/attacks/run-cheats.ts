import { passesTests } from "../../src/env/mined/mined-repositories.ts";
import { pythonTestRunner } from "../../src/env/mined/test-runner.ts";
import { defaultSandbox } from "../../src/tool/sandbox/default-sandbox.ts";
import { runJavaScriptTests } from "../../src/tool/sandbox/javascript-tests.ts";
import { processSandbox } from "../../src/tool/sandbox/process-sandbox.ts";
import { runPythonTests } from "../../src/tool/sandbox/python-tests.ts";
import type { Cheat } from "./cheats.ts";

/** What `f` must give: numbers that were drawn a moment ago. */
export interface Wanted {
  readonly argument: number;
  readonly expected: number;
}

/** Whether the reward pays for any test. */
export async function isPaid({ language, code }: Cheat, wanted: readonly Wanted[]): Promise<boolean> {
  const tests = wanted.map(({ argument, expected }) => ({
    name: `${argument}`,
    expression: `f(${argument})`,
    expected,
  }));
  const { passed } =
    language === "python"
      ? await runPythonTests({ code, tests, limits: { testMs: 500 } })
      : await runJavaScriptTests({ code, tests, limits: { testMs: 500 } });
  return passed > 0;
}

const minedLimits = { timeoutMs: 5_000, memoryMb: 256 };

/** Whether tests of a mined repository pay, which compare inside the code's own process; `canaries` are those with other expected values. */
export async function isPaidByMinedTests(
  { code }: Cheat,
  wanted: readonly Wanted[],
  hasCanaries = true,
): Promise<boolean> {
  const tests = wanted.map(
    ({ argument, expected }) => `def test_${argument}():\n    assert f(${argument}) == ${expected}\n`,
  );
  const unit = wanted.map(
    ({ argument, expected }) =>
      `    def test_${argument}(self):\n        self.assertEqual(f(${argument}), ${expected})\n`,
  );
  const files = {
    "test_plain.py": ["from solution import f\n", ...tests].join("\n"),
    "test_unit.py": ["import unittest\nfrom solution import f\n\nclass T(unittest.TestCase):", ...unit].join("\n"),
  };
  const names = wanted.flatMap(({ argument }) => [
    `test_plain.py::test_${argument}`,
    `test_unit.py::T::test_${argument}`,
  ]);
  const judging = { runner: pythonTestRunner, sandbox: defaultSandbox(), limits: minedLimits };
  // paid for any of them
  for (const name of names) {
    const task = { tests: files, failToPass: [name], passToPass: [], canaries: hasCanaries ? [name] : [] };
    if (await passesTests(task, { "solution.py": code }, judging)) return true;
  }
  return false;
}

/** A reward as it is often written: tests beside the code, in one process, judged by its exit status. */
export async function isPaidByExitStatus({ language, code }: Cheat, wanted: readonly Wanted[]): Promise<boolean> {
  const box = await processSandbox().open({ files: naiveFiles(code, wanted) });
  try {
    const limits = { timeoutMs: 2_000 };
    const ended =
      language === "python"
        ? await box.exec("python3", { args: ["test_it.py"], limits })
        : await box.exec(process.execPath, { args: ["test-it.cjs"], limits });
    return ended.kind === "exited" && ended.code === 0;
  } finally {
    await box.close();
  }
}

function naiveFiles(code: string, wanted: readonly Wanted[]): Record<string, string> {
  const asserts = wanted.map(({ argument, expected }) => `    self.assertEqual(f(${argument}), ${expected})`);
  const equals = wanted.map(({ argument, expected }) => `assert.strictEqual(f(${argument}), ${expected});`);
  return {
    "solution.py": code,
    "test_it.py": `import unittest\nfrom solution import *\nclass T(unittest.TestCase):\n  def test_it(self):\n${asserts.join("\n")}\nunittest.main()\n`,
    "test-it.cjs": `const assert = require("assert");\n${code}\nfunction test() {\n${equals.join("\n")}\n}\ntest();\n`,
  };
}
