import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { bfclMatches } from "../../scorer/bfcl-ast.ts";
import { gaiaEqual } from "../../scorer/gaia-answer.ts";
import { hendrycksEqual } from "../../scorer/hendrycks-math.ts";
import { parsePythonJson } from "../../scorer/python-json.ts";
import type { BenchmarkScore, ChatReply, ChatRequest } from "./benchmark.ts";
import { benchmarkOf, benchmarks } from "./index.ts";
import { publishedFiles } from "./testing/published-files.ts";

const context = { signal: new AbortController().signal };
type Said = string | Partial<ChatReply>;

/** What a task is worth where the model says this; and what it was asked. */
async function ask(name: string, id: string, said: Said): Promise<BenchmarkScore & { request: ChatRequest }> {
  const tasks = await benchmarkOf(name).load(publishedFiles(name));
  const task = tasks.find((each) => each.id === id)!;
  let request: ChatRequest | undefined;
  const score = await task.attempt(async (given) => {
    request = given;
    return { text: "", calls: [], ...(typeof said === "string" ? { text: said } : said) };
  }, context);
  return { ...score, request: request! };
}
const calls = (...all: readonly [name: string, args: string][]) => ({
  calls: all.map(([name, args], index) => ({ id: `c${index}`, name, arguments: args })),
});

test.each([
  ["gsm8k", "gsm8k/0", "1000 and 3.\n#### 1003", { success: true }],
  ["gsm8k", "gsm8k/0", "#### 1,003", { success: true }],
  ["gsm8k", "gsm8k/0", "1003", { success: false }],
  ["gsm8k", "gsm8k/1", "#### -2", { success: true }],
  ["gsm8k", "gsm8k/1", "#### 2", { success: false }],
  ["math", "math/0", "So $\\boxed{\\dfrac12}$", { success: true }],
  ["math", "math/0", "\\boxed{1/2}", { success: true }],
  ["math", "math/0", "\\boxed{0.25}", { success: false }],
  ["math", "math/1", "\\boxed{x=\\sqrt2}", { success: true }],
  ["math", "math/1", "sqrt 2", { success: false }],
  ["hotpotqa", "h1", "It lies there.\nAnswer: Danube.", { success: true, metrics: { em: 1, f1: 1 } }],
  ["hotpotqa", "h1", "Answer: the river Danube", { success: false, metrics: { em: 0, f1: 2 / 3 } }],
  ["hotpotqa", "h2", "Answer: yes, it is", { success: false, metrics: { em: 0, f1: 0 } }],
  ["hotpotqa", "h2", "Answer: no", { success: false, metrics: { em: 0, f1: 0 } }],
  ["2wiki", "h1", "Answer: Donau", { success: true, metrics: { em: 1, f1: 1 } }],
  ["2wiki", "h2", "Answer: Donau", { success: false }],
  ["musique", "2hop__1_2", "Answer: Euxine sea", { success: true, metrics: { em: 1, f1: 1 } }],
  ["musique", "2hop__1_2", "", { success: false, metrics: { em: 0, f1: 0 } }],
  ["gaia", "g1", "4 each.\nFINAL ANSWER: 12", { success: true }],
  ["gaia", "g1", "FINAL ANSWER: $12.0", { success: true }],
  ["gaia", "g1", "FINAL ANSWER: twelve", { success: false }],
  ["gaia", "g2", "FINAL ANSWER: Red,white", { success: true }],
  ["gaia", "g2", "FINAL ANSWER: red", { success: false }],
  ["bfcl", "simple_python_0", calls(["weather_get", '{"city": "vienna", "days": 3}']), { success: true }],
  ["bfcl", "simple_python_0", calls(["weather_get", '{"city": "Vienna", "at": [48.2, 16.4]}']), { success: true }],
  ["bfcl", "simple_python_0", calls(["weather_get", '{"city": "Vienna", "days": 3.0}']), { success: false }],
  ["bfcl", "simple_python_0", calls(["weather_get", '{"days": 3}']), { success: false }],
  ["bfcl", "simple_python_0", calls(["weather_get", '{"city": "Vienna", "sky": 1}']), { success: false }],
  ["bfcl", "simple_python_0", calls(["weather_get", "{"]), { success: false }],
  ["bfcl", "simple_python_0", calls(["weather_get", "[1]"]), { success: false }],
  ["bfcl", "simple_python_0", "It is sunny.", { success: false }],
  [
    "bfcl",
    "parallel_0",
    calls(["weather_get", '{"city":"Rome"}'], ["weather_get", '{"city":"Bonn"}']),
    { success: true },
  ],
  [
    "bfcl",
    "parallel_0",
    calls(["weather_get", '{"city":"Rome"}'], ["weather_get", '{"city":"Rome"}']),
    { success: false },
  ],
  ["bfcl", "irrelevance_0", "La la.", { success: true }],
  ["bfcl", "irrelevance_0", calls(["weather_get", "{}"]), { success: false }],
] as const)("%s: %s is answered %j", async (name, id, said, expected) => {
  expect(await ask(name, id, said as Said)).toMatchObject(expected);
});

test("what the model is asked", async () => {
  const { request } = await ask("hotpotqa", "h1", "");
  const [{ content }] = request.messages;
  expect(content).toContain("Vienna is the capital of Austria. It lies on the Danube.");
  expect(content).toMatch(/Question: Which river flows through the capital of Austria\?$/);
  const { request: called } = await ask("bfcl", "simple_python_0", "");
  expect(called.tools).toMatchObject([
    {
      name: "weather_get",
      parameters: { type: "object", properties: { at: { type: "array", items: { type: "number" } } } },
    },
  ]);
});

test("MATH in its first form: a file for each problem", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-math-"));
  mkdirSync(join(folder, "test/algebra"), { recursive: true });
  const problem = { problem: "2+2?", level: "Level 1", type: "Algebra", solution: "$\\boxed{4}$" };
  writeFileSync(join(folder, "test/algebra/7.json"), JSON.stringify(problem, null, 2));
  const tasks = await benchmarkOf("math").load(folder);
  expect(tasks).toMatchObject([{ text: "2+2?", category: "Algebra" }]);
});

describe("files that are none of the benchmark", () => {
  const message = async (name: string, files: Readonly<Record<string, string>>, base = "none") => {
    const folder = publishedFiles(base, files);
    return benchmarkOf(name)
      .load(folder)
      .then(
        () => "loaded",
        (error: Error) => error.message.replaceAll(folder, "FOLDER"),
      );
  };

  test.each(Object.keys(benchmarks))("%s: no folder, and an empty one", async (name) => {
    await expect(benchmarkOf(name).load("/no/such/folder")).rejects.toThrow(
      /^bad-benchmark-data: got the folder \/no\/such/,
    );
    const said = await message(name, {});
    expect(said).toMatch(/^bad-benchmark-data: got FOLDER, which holds nothing, expected /);
    // names as people write them, no regular expressions
    expect(said).not.toMatch(/[\\^$]|\(\?/);
  });

  test("another form is named with its place", async () => {
    expect(await message("gsm8k", { "test.jsonl": '{"question": "a"}\n' })).toMatch(/test.jsonl, line 1 with answer/);
    expect(await message("gsm8k", { "test.jsonl": "version https://git-lfs\n" })).toMatch(/line 1.*Git LFS/);
    expect(await message("gsm8k", { "test.jsonl": "\n" })).toMatch(/without a record/);
    expect(await message("gsm8k", { "test.jsonl": '{"question":"a","answer":"b"}\n' })).toMatch(
      /record 1, expected.*####/,
    );
    expect(await message("hotpotqa", { "hotpot_x.json": '[{"_id": 4}]' })).toMatch(/record 1 with _id = 4/);
    const full = '{"id":"a","question":"b","answer":"","answer_aliases":[],"answerable":false,"paragraphs":[]}\n';
    expect(await message("musique", { "musique_full_v1.0_dev.jsonl": full })).toMatch(/musique_ans, not musique_full/);
    const hidden = '{"task_id":"a","Question":"b","Level":1,"Final answer":"?","file_name":""}\n';
    expect(await message("gaia", { "metadata.jsonl": hidden })).toMatch(/validation set/);
    const [missing, emptied] = ["possible_answer/BFCL_v4_parallel.json", '{"id":"other","ground_truth":[]}\n'];
    expect(await message("bfcl", { [missing]: emptied }, "bfcl")).toMatch(/parallel_0 without a possible answer/);
  });

  test("a misspelt name", () => {
    expect(() => benchmarkOf("gsm8")).toThrow(/^unknown-benchmark: got "gsm8".*Did you mean "gsm8k"/);
    expect(() => benchmarkOf("constructor")).toThrow(/^unknown-benchmark/);
    expect(() => benchmarkOf("swebench")).toThrow(/^unknown-benchmark: .*Did you mean "swe-bench"/);
  });
});

describe("published scorers", () => {
  test.each([
    ["\\frac{1}{2}", "0.5", true],
    ["\\frac34", "3/4", true],
    ["5\\text{ cm}", "5", true],
    ["90^\\circ", "90", true],
    [".5", "\\frac{1}{2}", true],
    ["\\left(1, 2\\right)", "(1,2)", true],
    ["k=3", "3", true],
    ["xyz=3", "3", false],
    ["0.50", "\\frac{1}{2}", false],
    ["10\\%", "10", true],
  ])("MATH: %s and %s", (a, b, isSame) => expect(hendrycksEqual(a, b)).toBe(isSame));

  test.each([
    ["1,000", "1000", true],
    ["1e3", "1000", true],
    ["sea gull.", "Seagull", true],
    ["a; b", "a,b", true],
    ["a,b,c", "a,b", false],
    ["1, b", "1.0,b", true],
    ["a.,b", "a,b", false],
    ["", "0", false],
  ])("GAIA: %j for %j", (said, gold, isRight) => expect(gaiaEqual(said, gold)).toBe(isRight));

  test("BFCL: Python's types, variables and dictionaries", () => {
    const properties = { n: { type: "float" }, d: { type: "dict" }, l: { type: "array", items: { type: "dict" } } };
    const functions = [{ name: "f", parameters: { properties, required: [] } }];
    const check = (args: string, answer: string) => {
      const read = (text: string) => parsePythonJson(text) as never;
      return bfclMatches(functions, [{ name: "f", arguments: read(args) }], [{ f: read(answer) }], "simple");
    };
    expect(check('{"n": 5}', '{"n": [5.0]}')).toBe(true);
    expect(check('{"n": "5"}', '{"n": [5.0]}')).toBe(false);
    expect(check('{"n": "x"}', '{"n": ["x"]}')).toBe(true);
    expect(check('{"d": {"a": "B-1"}}', '{"d": [{"a": ["b1"], "c": ["", 1]}]}')).toBe(true);
    expect(check('{"d": {"a": "b"}}', '{"d": [{"a": ["b"], "c": [1]}]}')).toBe(false);
    expect(check('{"l": [{"a": 1}]}', '{"l": [[{"a": [1]}]]}')).toBe(true);
    expect(check('{"l": [{"a": 1}, {"a": 1}]}', '{"l": [[{"a": [1]}]]}')).toBe(false);
    expect(check('{"l": [{"__proto__": 1}]}', '{"l": [[{"a": [1, ""]}]]}')).toBe(false);
  });
});
