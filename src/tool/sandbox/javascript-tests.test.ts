import { expect, test } from "vitest";
import { toComparable } from "./comparable.ts";
import { type JavaScriptTest, runJavaScriptTests } from "./javascript-tests.ts";
import type { JavaScriptTestLimits } from "./limits.ts";
import { testLevel } from "./testing/bubblewrap-here.ts";

const run = (code: string, tests: readonly JavaScriptTest[], limits: Partial<JavaScriptTestLimits> = {}) =>
  runJavaScriptTests({ code, tests, limits: { heapMb: 64, ...limits }, level: testLevel });
const outcomes = async (code: string, ...tests: Omit<JavaScriptTest, "name">[]) =>
  (
    await run(
      code,
      tests.map((each, i) => ({ name: `${i}`, ...each })),
    )
  ).results.map(({ outcome }) => outcome);

test("each test is judged on its own", async () => {
  const report = await run("const add = (a, b) => a + b;", [
    { name: "value", expression: "add(1, 2)", expected: 3 },
    { name: "true", expression: "add(1, 2) === 3" },
    { name: "wrong", expression: "add(1, 2)", expected: 4 },
    { name: "truthy is not true", expression: "add(1, 2)" },
    { name: "throws", expression: "missing()" },
    { name: "not an expression", expression: "add(1" },
  ]);
  expect(report).toEqual({
    passed: 2,
    total: 6,
    compile: "ok",
    results: [
      { name: "value", outcome: "passed" },
      { name: "true", outcome: "passed" },
      { name: "wrong", outcome: "failed", message: "got 3, expected 4" },
      { name: "truthy is not true", outcome: "failed", message: "got 3, expected true" },
      { name: "throws", outcome: "error", message: "ReferenceError: missing is not defined" },
      { name: "not an expression", outcome: "error", message: expect.stringContaining("SyntaxError") },
    ],
  });
});

test("code that cannot be parsed", async () => {
  const report = await run("const add = (a, b => a + b;", [{ name: "any", expression: "true" }]);
  expect(report).toMatchObject({ passed: 0, total: 1, compile: "error", results: [{ name: "any", outcome: "error" }] });
  expect(await run("(", [])).toEqual({ passed: 0, total: 0, compile: "error", results: [] });
  expect(await run("1", [])).toEqual({ passed: 0, total: 0, compile: "ok", results: [] });
});

test("code that throws when loaded fails every test", async () => {
  const report = await run("null.x", [{ name: "any", expression: "true" }]);
  expect(report).toMatchObject({
    compile: "ok",
    results: [{ outcome: "error", message: expect.stringContaining("TypeError") }],
  });
});

test("promises and timers", async () => {
  const code = `const later = (value, ms) => new Promise((resolve) => setTimeout(resolve, ms, value));
    module.exports.ticks = async (n) => { let seen = 0; const t = setInterval(() => seen++, 1); while (seen < n) await later(0, 1); clearInterval(t); return seen >= n; };`;
  expect(
    await outcomes(
      code,
      { expression: "later([1, 2], 5)", expected: [1, 2] },
      { expression: "module.exports.ticks(3)" },
      { expression: "later(0, 1).then(() => { throw new Error('no') })" },
      { expression: "(setTimeout(() => { throw new Error('no') }, 1), later(true, 200))" },
      { expression: "(Promise.reject(1), later(true, 200))" },
      { expression: "new Promise(() => {})" },
      { expression: "true" },
    ),
  ).toEqual(["passed", "passed", "error", "error", "error", "timeout", "passed"]);
});

test("a test that never ends does not take the others with it", async () => {
  const report = await run(
    "let loads = 0; loads++",
    [
      { name: "before", expression: "loads", expected: 1 },
      { name: "loop", expression: "(() => { for (;;); })()" },
      { name: "endless promises", expression: "(async () => { for (;;) await 0; })()" },
      { name: "after", expression: "loads++", expected: 1 },
      { name: "again", expression: "loads", expected: 1 },
    ],
    { testMs: 300 },
  );
  expect(report.results).toEqual([
    { name: "before", outcome: "passed" },
    { name: "loop", outcome: "timeout", message: "took longer than 300 ms", end: { kind: "timeout", afterMs: 300 } },
    {
      name: "endless promises",
      outcome: "timeout",
      message: "took longer than 300 ms",
      end: { kind: "timeout", afterMs: 300 },
    },
    { name: "after", outcome: "passed" },
    { name: "again", outcome: "passed" },
  ]);
});

test("nor does one that takes too much", async () => {
  const report = await run(
    "",
    [
      { name: "heap", expression: "(() => { const a = []; for (;;) a.push(new Array(1e6).fill(1)); })()" },
      { name: "result", expression: "'x'.repeat(5e6)" },
      { name: "after", expression: "true" },
    ],
    { testMs: 10_000 },
  );
  expect(report.results).toEqual([
    {
      name: "heap",
      outcome: "error",
      message: "needed more than 64 MB of memory",
      end: { kind: "out-of-memory", limitMb: 64 },
    },
    {
      name: "result",
      outcome: "error",
      message: expect.stringMatching(/^printed or returned too much, \d+ bytes$/),
      end: { kind: "output-limit", bytes: expect.any(Number) },
    },
    { name: "after", outcome: "passed" },
  ]);
});

test("the limit for all tests together, and a signal", async () => {
  const loops = Array.from({ length: 3 }, (_, i) => ({ name: `${i}`, expression: "(() => { for (;;); })()" }));
  const report = await run("", loops, { testMs: 5_000, timeoutMs: 300 });
  expect(report.results.map(({ outcome }) => outcome)).toEqual(["timeout", "timeout", "timeout"]);
  const stopped = await runJavaScriptTests({ code: "", tests: loops, level: testLevel }, AbortSignal.timeout(200));
  expect(stopped.results.map(({ outcome }) => outcome)).toEqual(["cancelled", "cancelled", "cancelled"]);
});

test("the code has no way to this program's things", async () => {
  const throughError = "import('fs').catch((e) => e.constructor.constructor('return process')().pid)";
  const topOfError = `import("fs").catch((top) => {
    for (let above = top; above !== null; above = Object.getPrototypeOf(top)) top = above;
    return top !== Object.prototype && Object.isFrozen(top);
  })`;
  const report = await run("", [
    {
      name: "names",
      expression: "[typeof process, typeof require, typeof fetch, typeof Buffer]",
      expected: Array(4).fill("undefined"),
    },
    {
      name: "constructor",
      expression: "globalThis.constructor.constructor('return typeof process')()",
      expected: "undefined",
    },
    { name: "import", expression: "import('fs').then(() => 'imported', () => 'refused')", expected: "refused" },
    { name: "error of import", expression: throughError },
    { name: "its prototype", expression: topOfError },
    { name: "timer", expression: "typeof setTimeout(() => {}, 0)", expected: "number" },
    { name: "evaluates", expression: "eval('1 + 1') === new Function('return 2')()" },
  ]);
  expect(report.results.map(({ name, outcome }) => `${name} ${outcome}`)).toEqual([
    "names passed",
    "constructor passed",
    "import passed",
    "error of import error",
    "its prototype passed",
    "timer passed",
    "evaluates passed",
  ]);
});

test("code that replaces built-ins cannot make a false test true", async () => {
  const code = `JSON.stringify = () => "true"; String = () => "true"; Number.isFinite = () => false;
    Array.from = () => ({ join: () => "true" }); Array.prototype.join = Array.prototype.includes = () => "true";
    Promise.prototype.then = function (resolve) { resolve(true); }; Promise.prototype.constructor = class {};
    const wrong = () => 4;`;
  expect(await outcomes(code, { expression: "wrong() === 3" }, { expression: "wrong()", expected: 3 })).toEqual([
    "failed",
    "failed",
  ]);
});

test("code that looks through the stack does not find who reports", async () => {
  const code = `Error.prepareStackTrace = (_, sites) => sites.map((site) => site.getFunction());
    const wrong = () => {
      for (const found of new Error().stack) if (found?.name === "settle") found(() => true);
      return false;
    };`;
  expect(await outcomes(code, { expression: "wrong()" })).toEqual(["failed"]);
});

test.each([
  ["caller", "function f() { return eval(/===\\s*(.+)/.exec(f.caller)[1]); }"],
  ["arguments.callee.caller", "function f() { return eval(/===\\s*(.+)/.exec(arguments.callee.caller)[1]); }"],
  [
    "call sites",
    `Error.prepareStackTrace = (_, sites) => sites;
    function f() {
      for (const site of new Error().stack) {
        const found = /= (42)/.exec(String(site.getFunction()) + String(site) + site.getEvalOrigin());
        if (found) return eval(found[1]);
      }
    }`,
  ],
  [
    "call sites of an async frame",
    `Error.prepareStackTrace = (_, sites) => sites;
    async function g() {
      await 0;
      for (const site of new Error().stack) {
        const found = /= (42)/.exec(String(site.getFunction()) + String(site.getThis()));
        if (found) return eval(found[1]);
      }
    }
    function f() { return g(); }`,
  ],
])("code does not see the test that runs it: %s", async (_, code) => {
  const tests = [
    { expression: "await f() === 42" },
    { expression: "[1].map(() => f())[0] === 42" },
    { expression: "(function () { return f() === 42; })()" },
  ];
  expect(await outcomes(code, ...tests)).not.toContain("passed");
});

test("equal values have equal text, and others do not", () => {
  const cyclic: unknown[] = [];
  cyclic.push(cyclic);
  expect(toComparable({ b: [-0, undefined], a: Number.NaN, c: undefined })).toBe(
    '{"a":{"$number":"NaN"},"b":[0,{"$":"undefined"}]}',
  );
  const values = [
    0,
    "0",
    null,
    undefined,
    false,
    "false",
    [],
    {},
    new Map(),
    new Set(),
    0n,
    Number.NaN,
    "NaN",
    [0],
    Number.POSITIVE_INFINITY,
  ];
  expect(new Set(values.map(toComparable)).size).toBe(values.length);
  expect(toComparable([1, [1, 1]])).toBe("[1,[1,1]]");
  expect(() => toComparable(cyclic)).toThrow("circular");
  expect(() => toComparable(() => 1)).toThrow("not data");
});

test("an unknown level is refused", async () => {
  const options = { code: "", tests: [], level: "none" as "process" };
  await expect(runJavaScriptTests(options)).rejects.toThrow(/level/);
});
