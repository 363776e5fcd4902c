import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { jsonl } from "../../task/jsonl.ts";
import { processSandbox } from "../../tool/sandbox/process-sandbox.ts";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import { type CodeProblem, checkProblems, readKodCode } from "./code-problems.ts";
import { generateProblems } from "./generate-problems.ts";

const sandbox = noBubblewrap === undefined ? {} : { sandbox: processSandbox() };
const folder = mkdtempSync(join(tmpdir(), "ludus-problems-"));
afterAll(() => rmSync(folder, { recursive: true }));

const sum: CodeProblem = {
  id: "sum",
  question: "Write add(a, b), which gives the sum of two whole numbers a and b, whatever their signs are.",
  solution: "def add(a, b):\n    return a + b\n",
  test: "from solution import add\n\ndef test_add():\n    assert add(2, 3) == 5\n",
};
const why = async (problem: Partial<CodeProblem>, options = {}, before: CodeProblem[] = []) => {
  const checked = await checkProblems([...before, { ...sum, id: "new", ...problem }], { ...sandbox, ...options });
  return checked.leftOut.find(({ id }) => id === "new")?.why ?? "kept";
};

test("a solution that passes its tests is kept; a wrong one, a broken one and one by chance are not", async () => {
  expect(await why({})).toBe("kept");
  expect(await why({ solution: "def add(a, b):\n    return a - b\n" })).toBe("fails");
  expect(await why({ solution: "def add(a, b:\n" })).toBe("fails");
  expect(await why({ solution: "def add(a, b):\n    while True: pass\n" }, { timeoutMs: 500 })).toBe("fails");
  const chance = 'import os\ndef add(a, b):\n    return 5 if os.environ["PYTHONHASHSEED"] == "1" else 0\n';
  expect(await why({ solution: chance })).toBe("fails");
});

test("tests that an empty solution passes are none, and too few of them are too few", async () => {
  expect(await why({ test: "from solution import add\n\ndef test_add():\n    add(1, 2)\n" })).toBe("tests-nothing");
  expect(await why({}, { minTests: 2 })).toBe("too-few-tests");
  expect(await why({ test: "from solution import add\n" })).toBe("fails");
});

test("the same question in other words of punctuation, and the same solution, are duplicates of what was kept", async () => {
  const other = "def add(a, b):\n    return b + a\n";
  expect(await why({ question: `${sum.question}!`, solution: other }, {}, [sum])).toBe("duplicate");
  expect(
    await why({ question: "Something else entirely, about apples.", solution: `# x\n${sum.solution}` }, {}, [sum]),
  ).toBe("duplicate");
  expect(await why({ question: "Something else entirely, about apples.", solution: other }, {}, [sum])).toBe("kept");
  const wrong = { ...sum, id: "wrong", solution: "def add(a, b):\n    return 0\n" };
  expect(await why({}, {}, [wrong])).toBe("kept");
});

test("a question that stands in texts of a test set is contaminated", async () => {
  const text = "In the set: gives the sum of two whole numbers a and b, whatever their signs are, said the book.";
  expect(await why({}, { against: [text] })).toBe("contaminated");
  expect(await why({}, { against: ["gives the sum of two numbers"] })).toBe("kept");
});

test("generated problems hold when they are run, and none of them is there twice", async () => {
  const proposed = [...generateProblems({ count: 12, seed: 3 })];
  const { problems, leftOut } = await checkProblems(proposed, { ...sandbox, against: [proposed[0]!.question] });
  expect(leftOut.filter(({ why: reason }) => reason !== "duplicate" && reason !== "contaminated")).toEqual([]);
  expect(leftOut.find(({ id }) => id === proposed[0]!.id)?.why).toBe("contaminated");
  expect(problems.length).toBeGreaterThan(5);
  expect([...generateProblems({ count: 12, seed: 3 })]).toEqual(proposed);
});

test("records of KodCode are read as tasks", async () => {
  const file = join(folder, "kodcode.jsonl");
  const fields = { style: "instruct", subset: "Prefill", question_id: "Prefill_1", question: sum.question };
  writeFileSync(file, `${JSON.stringify({ ...fields, solution: sum.solution, test: sum.test })}\n`);
  const { data } = await jsonl({ train: file }, { parse: readKodCode }).at("train", 0);
  expect(data).toEqual({ ...sum, id: "Prefill_1" });
  writeFileSync(file, `${JSON.stringify({ ...fields, solution: sum.solution })}\n`);
  expect(() => jsonl({ train: file }, { parse: readKodCode })).toThrow(/line 1[\s\S]*test/);
});

test("options that mean nothing are refused", async () => {
  await expect(checkProblems([], { same: 0 })).rejects.toThrow("bad-option");
  await expect(checkProblems([], { minTest: 1 } as never)).rejects.toThrow('did you mean "minTests"?');
  expect(() => [...generateProblems({ count: 0 })]).toThrow("bad-option");
});
