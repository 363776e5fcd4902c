import { describe, expect, test } from "vitest";
import { processSandbox } from "./process-sandbox.ts";
import { type PythonTest, runPythonTests } from "./python-tests.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

const sandbox = noBubblewrap === undefined ? {} : { sandbox: processSandbox() };
const run = (code: string, tests: readonly PythonTest[], more = {}) =>
  runPythonTests({ code, tests, ...sandbox, ...more });
const one = async (code: string, expected: unknown, expression = "f(3)") =>
  (await run(code, [{ name: "it", expression, expected }])).results[0];

describe("tests of Python", () => {
  test.each([
    ["return 2 ** 0.5 ** 0", 2],
    ["return (1, [2.0, None], {'a': True})", [1, [2, null], { a: true }]],
    ["return {3, 1, 2}", { $set: [1, 2, 3] }],
    ["return {1: 'x'}", { $map: [[1, "x"]] }],
    ["return float('nan')", { $number: "NaN" }],
    ["return 2 ** 70", { $bigint: `${2n ** 70n}` }],
    ["return 'n\\u00e4h'", "näh"],
  ])("values are compared outside: %s", async (body, expected) => {
    expect(await one(`def f(n):\n  ${body}`, expected)).toEqual({ name: "it", outcome: "passed" });
  });

  test("every test loads the code anew, and one that fails leaves the others alone", async () => {
    const code = "seen = []\ndef f(n):\n  seen.append(n)\n  if n == 2: raise ValueError('two')\n  return len(seen)";
    const tests = [1, 2, 3].map((n) => ({ name: `${n}`, expression: `f(${n})`, expected: 1 }));
    const report = await run(code, tests);
    expect(report).toMatchObject({ passed: 2, total: 3, compile: "ok" });
    expect(report.results[1]).toEqual({ name: "2", outcome: "error", message: "ValueError: two" });
  });

  test("code that cannot be parsed", async () => {
    const report = await run("def f(n", [{ name: "it", expression: "f(3)", expected: 1 }]);
    expect(report).toMatchObject({ passed: 0, compile: "error", results: [{ outcome: "error" }] });
  });

  test("a loop ends at its limit, and the next test runs", async () => {
    const tests = [0, 1].map((n) => ({ name: `${n}`, expression: `f(${n})`, expected: 1 }));
    const report = await run("def f(n):\n  while n == 0: pass\n  return 1", tests, { limits: { testMs: 200 } });
    expect(report.results.map(({ outcome }) => outcome)).toEqual(["timeout", "passed"]);
  });

  test("what passes by chance or by the order of a hash table is flaky", async () => {
    const tests = [
      { name: "it", expression: "list({'tea', 'salt', 'rice', 'oil', 'egg', 'leek', 'corn'})", expected: 0 },
    ];
    const [seen] = (await run("", tests, { confirm: false })).results;
    const order = JSON.parse(/got (\[.*\]), expected/.exec(seen?.message ?? "")?.[1] ?? "");
    const again = [{ ...tests[0]!, expected: order }];
    expect((await run("", again, { confirm: false })).results).toMatchObject([{ outcome: "passed" }]);
    expect((await run("", again)).results).toMatchObject([{ outcome: "flaky" }]);
    expect(await run("", again)).toMatchObject({ passed: 0 });
  });

  test("a value that equals everything equals nothing", async () => {
    const code =
      "class Any:\n  def __eq__(self, other): return True\n  def __hash__(self): return 0\ndef f(n): return Any()";
    expect(await one(code, 17)).toMatchObject({
      outcome: "error",
      message: "TypeError: a value of type Any is not data",
    });
  });

  test("a misspelt option is misuse", async () => {
    await expect(run("", [], { sandboxes: 1 })).rejects.toThrow(/did you mean "sandbox"/);
    await expect(run("", [], { limits: { testMS: 1 } })).rejects.toThrow("unknown-limit");
  });

  test("a signal cancels", async () => {
    const tests = [{ name: "it", expression: "f()", expected: 1 }];
    const stop = AbortSignal.timeout(300);
    const { results } = await runPythonTests(
      { code: "import time\ndef f(): time.sleep(9)", tests, ...sandbox, limits: { testMs: 9_000 } },
      stop,
    );
    expect(results).toEqual([{ name: "it", outcome: "cancelled" }]);
  });
});
