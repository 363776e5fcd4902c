import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import type { JavaScriptTest } from "../tool/sandbox/javascript-tests.ts";
import { testLevel } from "../tool/sandbox/testing/bubblewrap-here.ts";
import { type CodeTestsOptions, codeTests, lastCodeBlock } from "./code-tests.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const tests: readonly JavaScriptTest[] = [
  { name: "small", expression: "add(1, 2)", expected: 3 },
  { name: "negative", expression: "add(-1, 1)", expected: 0 },
];

const scoreOf = async (code: string, credit: NonNullable<CodeTestsOptions<unknown, unknown>["credit"]>) =>
  codeTests({ tests: () => tests, credit, limits: { heapMb: 64, testMs: 500 }, level: testLevel })(
    fakeEpisode({}, [code]),
  );

const right = "Here:\n```js\nconst add = (a, b) => a + b;\n```\nDone.";
const half = "```js\nconst add = (a, b) => 3;\n```";

test("a share of the tests, or all of them", async () => {
  expect(await scoreOf(right, "share")).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  expect(await scoreOf(half, "share")).toEqual({ total: 0.5, parts: { outcome: 0.5 }, success: false });
  expect(await scoreOf(half, "all")).toMatchObject({ total: 0, success: false });
});

test("CodeRL's four levels, the worst that happened", async () => {
  expect(await scoreOf(right, "code-rl")).toMatchObject({ total: 1, success: true });
  expect(await scoreOf(half, "code-rl")).toMatchObject({ total: -0.3, success: false });
  expect((await scoreOf("const add = (a) => { if (a < 0) throw 1; return 0; }", "code-rl")).total).toBe(-0.6);
  expect((await scoreOf("const add = (", "code-rl")).total).toBe(-1);
});

test("Python, whose tests must say what they expect", async () => {
  const python = (wanted: readonly JavaScriptTest[], code: string) =>
    codeTests({ tests: () => wanted, language: "python", level: testLevel })(fakeEpisode({}, [code]));
  expect(await python(tests, "```python\ndef add(a, b): return a + b\n```")).toMatchObject({ total: 1, success: true });
  expect(await python(tests, "def add(a, b): return 3")).toMatchObject({ total: 0.5, success: false });
  await expect(python([{ name: "x", expression: "add(1, 2) == 3" }], "")).rejects.toThrow(/no-expected-value.*"x"/);
});

test("a task without tests and a cancelled episode have no score", async () => {
  const reward = codeTests({ tests: (task: readonly JavaScriptTest[]) => task, level: testLevel });
  await expect(reward(fakeEpisode([], ["1"]))).rejects.toThrow(LudusError);
  await expect(reward(fakeEpisode(tests, ["1"], { signal: AbortSignal.abort(new Error("enough")) }))).rejects.toThrow(
    "enough",
  );
});

test("the last fenced block, closed or not", () => {
  expect(lastCodeBlock("a\n```js\none\n```\nb\n  ```\ntwo\nlines\n  ```\nc")).toBe("two\nlines");
  expect(lastCodeBlock("```\none\n```\n```js\ntwo")).toBe("two");
  expect(lastCodeBlock("no fence")).toBe("no fence");
});
