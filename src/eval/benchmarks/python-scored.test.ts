import { spawnSync } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { benchmarkOf } from "./index.ts";
import { publishedFiles } from "./testing/published-files.ts";

const hasPython = spawnSync("python3", ["-c", "import sys; sys.exit(sys.version_info < (3, 10))"]).status === 0;
process.env.LUDUS_ENVIRONMENTS = "python3";
/** A Python without any package. */
const barePython = join(publishedFiles("none", { python: '#!/bin/sh\nexec python3 -S -E "$@"\n' }), "python");
chmodSync(barePython, 0o755);
const context = { signal: new AbortController().signal };
type Call = readonly [name: string, args: string];

async function ask(id: string, ...calls: readonly Call[]): Promise<boolean> {
  const tasks = await benchmarkOf("bfcl-exec").load(publishedFiles("bfcl-exec"));
  const task = tasks.find((each) => each.id === id)!;
  const called = calls.map(([name, args], index) => ({ id: `c${index}`, name, arguments: args }));
  return (await task.attempt(async () => ({ text: "", calls: called }), context)).success;
}

describe.skipIf(!hasPython)("BFCL's executable categories", () => {
  test.each([
    ["what the call returns counts, not its arguments", true, [["add", '{"a": 1, "b": 4}']]],
    ["another result", false, [["add", '{"a": 1, "b": 1}']]],
    ["an exception", false, [["add", '{"a": 1, "b": "x"}']]],
    ["no call", false, []],
    [
      "a call too many",
      false,
      [
        ["add", '{"a": 2, "b": 3}'],
        ["add", '{"a": 2, "b": 3}'],
      ],
    ],
    ["another function", false, [["os.system", '{"command": "true"}']]],
    ["a module's function", false, [["open", '{"file": "/etc/hostname"}']]],
    ["arguments that are no object", false, [["add", "[2, 3]"]]],
    ["an argument that is no name", false, [["add", '{"a": 2, "b=3) or add(a": 3}']]],
  ] as const)("%s", async (_, isRight, calls) => expect(await ask("exec_simple_0", ...calls)).toBe(isRight));

  test.each([
    [
      "in any order, within a fifth, and of the same shape",
      true,
      [
        ["news", '{"a": 7, "b": 3}'],
        ["add", '{"a": 2, "b": 4}'],
      ],
    ],
    [
      "further off",
      false,
      [
        ["news", '{"a": 7, "b": 3}'],
        ["add", '{"a": 2, "b": 5}'],
      ],
    ],
    [
      "of another shape",
      false,
      [
        ["add", '{"a": 2, "b": 3}'],
        ["add", '{"a": 2, "b": 3}'],
      ],
    ],
  ] as const)("several calls: %s", async (_, isRight, calls) => {
    expect(await ask("exec_parallel_0", ...calls)).toBe(isRight);
  });

  test("what is missing is said", async () => {
    const load = (more: Readonly<Record<string, string>>) => {
      return benchmarkOf("bfcl-exec").load(publishedFiles("bfcl-exec", more));
    };
    await expect(load({ "executable_python_function.py": "import no_such_package\n" })).rejects.toThrow(
      /^python-packages: .*no_such_package/,
    );
    const name = "possible_answer/BFCL_v4_exec_simple.json";
    await expect(load({ [name]: '{"id": "exec_simple_0"}\n' })).rejects.toThrow(/^bad-benchmark-data: .*line 1/);
    const none = publishedFiles("none", { "BFCL_v4_exec_simple.json": "" });
    await expect(benchmarkOf("bfcl-exec").load(none)).rejects.toThrow(/without executable_python_function.py/);
  });

  test.each([
    ["alfworld", /^python-packages: .*pip install textworld/],
    ["bfcl-multi-turn", /^python-packages: .*pip install bfcl-eval/],
    ["swe-bench", /^python-packages: .*pip install swebench/],
  ])("%s without its package", async (name, message) => {
    const files: Readonly<Record<string, Readonly<Record<string, string>>>> = {
      "bfcl-multi-turn": { "BFCL_v4_multi_turn_base.json": "{}\n" },
      "swe-bench": { "test.jsonl": sweRecord },
    };
    process.env.LUDUS_ENVIRONMENTS = barePython;
    try {
      await expect(benchmarkOf(name).load(publishedFiles(name, files[name]))).rejects.toThrow(message);
    } finally {
      process.env.LUDUS_ENVIRONMENTS = "python3";
    }
  });
});

const sweRecord = `${JSON.stringify({
  ...{ instance_id: "a__b-1", repo: "a/b", base_commit: "1", problem_statement: "", patch: "", test_patch: "" },
  ...{
    FAIL_TO_PASS: "[]",
    PASS_TO_PASS: "[]",
    eval_script: "",
    log_parser: "parse_log_pytest",
    eval_type: "pass_and_fail",
  },
})}\n`;

test("SWE-bench's records: of another form, and without a repository", async () => {
  const load = (text: string) => benchmarkOf("swe-bench").load(publishedFiles("none", { "test.jsonl": text }));
  await expect(load('{"instance_id": "a"}\n')).rejects.toThrow(/^bad-benchmark-data: .*test.jsonl, line 1 with repo/);
  const old = JSON.stringify({ ...JSON.parse(sweRecord), eval_script: undefined });
  await expect(load(`${sweRecord}${old}\n`)).rejects.toThrow(/line 2 with eval_script/);
});

test.each([
  ["base_commit", "--upload-pack=touch /tmp/x"],
  ["base_commit", "1' && touch x; '"],
  ["instance_id", "../../other"],
  ["repo", "../../.."],
])("SWE-bench's records: %s %j, which would reach beyond its place, is refused", async (field, value) => {
  const text = `${JSON.stringify({ ...JSON.parse(sweRecord), [field]: value })}\n`;
  const folder = publishedFiles("none", { "test.jsonl": text, "repositories/a__b/HEAD": "" });
  await expect(benchmarkOf("swe-bench").load(folder)).rejects.toThrow(
    new RegExp(`^bad-benchmark-data: .*line 1 with ${field}`),
  );
});

test("SWE-bench's report is of the tasks that were measured, whatever else the results hold", async () => {
  const [task] = ["a__b-1"].map((id) => ({ id, text: "", attempt: async () => ({ success: true }) }));
  const attempts = ["a__b-1", "a__b-2"].map((id) => {
    return { task: id, attempt: 0, model: "m", success: true, output: { patch: "diff" } };
  });
  const path = join(publishedFiles("none"), "results.jsonl");
  const [predictions, report] = await benchmarkOf("swe-bench").write!(path, [task], attempts);
  expect(readFileSync(predictions, "utf8").trim().split("\n")).toHaveLength(1);
  expect(JSON.parse(readFileSync(report, "utf8"))).toMatchObject({
    ...{ total_instances: 1, submitted_instances: 1, resolved_instances: 1, resolved_ids: ["a__b-1"] },
  });
});

test("ALFWorld's games are those of the released environment", async () => {
  process.env.LUDUS_ENVIRONMENTS = "/no/such/python";
  try {
    // found before Python is asked
    await expect(benchmarkOf("alfworld").load(publishedFiles("alfworld"))).rejects.toThrow(/^python-bridge-lost/);
    const only = publishedFiles("none", { "a/traj_data.json": '{"task_type": 4}' });
    await expect(benchmarkOf("alfworld").load(only)).rejects.toThrow(/1 files traj_data.json and no game/);
    const broken = publishedFiles("alfworld", { "pick-mug/trial_1/traj_data.json": "{" });
    await expect(benchmarkOf("alfworld").load(broken)).rejects.toThrow(
      /^bad-benchmark-data: .*trial_1\/traj_data.json/,
    );
  } finally {
    process.env.LUDUS_ENVIRONMENTS = "python3";
  }
});
