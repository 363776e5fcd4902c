import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { sweBenchTasks } from "./swe-bench-tasks.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-swe-"));
afterAll(() => rmSync(folder, { recursive: true }));

const fields = {
  instance_id: "tea__pot-1",
  repo: "tea/pot",
  base_commit: "abc",
  problem_statement: "It leaks.",
  patch: "diff --git a/pot.py b/pot.py",
  test_patch: "diff --git a/test_pot.py b/test_pot.py",
  FAIL_TO_PASS: '["test_pot.py::test_leak"]',
  PASS_TO_PASS: "[]",
  hints_text: "",
  created_at: "2024",
};

function write(...records: object[]): string {
  const file = join(folder, `${records.length}-${JSON.stringify(records).length}.jsonl`);
  writeFileSync(file, records.map((record) => `${JSON.stringify(record)}\n`).join(""));
  return file;
}

test("records of both kinds: lists in JSON or as lists, with an image or without", async () => {
  const gym = {
    ...fields,
    instance_id: "tea__pot-2",
    FAIL_TO_PASS: ["a", "b"],
    PASS_TO_PASS: ["c"],
    docker_image: "pot:2",
  };
  const tasks = sweBenchTasks({ train: write(fields), test: write(gym, gym) });
  const first = (await tasks.at("train", 0)).data;
  expect(first).toEqual({
    id: "tea__pot-1",
    repository: "tea/pot",
    commit: "abc",
    statement: "It leaks.",
    patch: fields.patch,
    testPatch: fields.test_patch,
    failToPass: ["test_pot.py::test_leak"],
    passToPass: [],
  });
  expect((await tasks.at("test", 1)).data).toMatchObject({ failToPass: ["a", "b"], passToPass: ["c"], image: "pot:2" });
});

test.each([
  [{ ...fields, FAIL_TO_PASS: "test_leak" }, "neither a list of names nor one written in JSON"],
  [{ ...fields, PASS_TO_PASS: "[1]" }, "neither a list of names nor one written in JSON"],
  [{ ...fields, repo: undefined }, "repo"],
])("a record that is none is told with its line", (wrong, problem) => {
  const read = () => sweBenchTasks({ train: write(fields, wrong) });
  expect(read).toThrow(/bad-task: got line 2 of /);
  expect(read).toThrow(problem);
});

test("a file that is not there, and a misspelt option", () => {
  expect(() => sweBenchTasks(join(folder, "none.jsonl"))).toThrow("no-tasks-file");
  const misspelt = { testShares: 1 };
  expect(() => sweBenchTasks(write(fields), misspelt as object)).toThrow(/did you mean "testShare"/);
});
