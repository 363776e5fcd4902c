import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import type { BenchmarkTask, ChatReply, ChatRequest } from "./benchmark.ts";
import { benchmarkOf } from "./index.ts";

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- official
const python = process.env.LUDUS_ENVIRONMENTS;
const context = { signal: new AbortController().signal };
const newFolder = () => mkdtempSync(join(tmpdir(), "ludus-official-"));
const run = (code: string, ...args: readonly string[]) =>
  execFileSync(python!, ["-c", code, ...args], { encoding: "utf8" });
type Turn = Partial<Omit<ChatReply, "calls">> & { calls?: readonly [name: string, args: object][] };

/** Says these turns one after the other. */
async function play(task: BenchmarkTask, turns: readonly Turn[]) {
  const asked: ChatRequest[] = [];
  const score = await task.attempt(async (request) => {
    asked.push({ ...request, messages: [...request.messages] });
    const { text = "", calls = [] } = turns[asked.length - 1] ?? {};
    return { text, calls: calls.map(([name, args], i) => ({ id: `c${i}`, name, arguments: JSON.stringify(args) })) };
  }, context);
  return { ...score, asked };
}

describe.skipIf(!python)("bfcl-eval: the released multi-turn records", () => {
  const folder = newFolder();

  /** The expected calls of a record as a model would make them. */
  function goldTurns(id: string): Turn[][] {
    const code = `
import ast, json, sys
rows = [json.loads(line) for line in open(sys.argv[1])]
truth = next(row["ground_truth"] for row in rows if row["id"] == sys.argv[2])
docs = {}
import pathlib
for path in pathlib.Path(sys.argv[3]).iterdir():
    for line in open(path):
        row = json.loads(line)
        docs[row["name"]] = list(row["parameters"]["properties"])
def read(text):
    call = ast.parse(text, mode="eval").body
    named = {each.arg: ast.literal_eval(each.value) for each in call.keywords}
    named |= {name: ast.literal_eval(value) for name, value in zip(docs[call.func.id], call.args)}
    return [call.func.id, named]
print(json.dumps([[read(text) for text in turn] for turn in truth]))`;
    const category = id.replace(/_\d+$/, "");
    const answers = join(folder, "possible_answer", `BFCL_v4_${category}.json`);
    const turns: [string, object][][] = JSON.parse(run(code, answers, id, join(folder, "multi_turn_func_doc")));
    return turns.map((calls) => [...calls.map((call): Turn => ({ calls: [call] })), { text: "Done." }]);
  }

  test("the expected calls succeed, without one of them they do not", async () => {
    const data = run("import bfcl_eval, os; print(os.path.join(os.path.dirname(bfcl_eval.__file__), 'data'))").trim();
    cpSync(data, folder, { recursive: true });
    const tasks = await benchmarkOf("bfcl-multi-turn").load(folder);
    expect(tasks.length).toBe(800);
    const byId = new Map(tasks.map((task) => [task.id, task]));
    const ids = ["multi_turn_base_0", "multi_turn_base_57", "multi_turn_base_120", "multi_turn_long_context_3"];
    for (const id of [...ids, "multi_turn_miss_func_0", "multi_turn_miss_param_1"]) {
      const gold = goldTurns(id);
      expect([id, (await play(byId.get(id)!, gold.flat())).success]).toEqual([id, true]);
      const [first, ...rest] = gold;
      const without = [first!.slice(1), ...rest];
      expect([id, (await play(byId.get(id)!, without.flat())).success]).toEqual([id, false]);
    }
    // a function that is held back is there from its turn on
    const { asked } = await play(byId.get("multi_turn_miss_func_0")!, goldTurns("multi_turn_miss_func_0").flat());
    const counts = [...new Set(asked.map(({ tools }) => tools!.length))];
    expect(counts.length).toBe(2);
  });
});

describe.skipIf(!python)("alfworld: a game of its own domain, in TextWorld", () => {
  test("won by the right commands, and not by others", async () => {
    const folder = newFolder();
    execFileSync(python!, [fileURLToPath(new URL("testing/alfworld_game.py", import.meta.url)), folder]);
    const [task] = await benchmarkOf("alfworld").load(folder);
    expect(task).toMatchObject({ category: "pick_and_place_simple", text: "Put a mug on the desk." });
    const commands = ["go to shelf 1", "take mug 1 from shelf 1", "go to desk 1", "move mug 1 to desk 1"];
    const won = await play(
      task!,
      commands.map((text) => ({ text: `I do it.\n> ${text}` })),
    );
    expect([won.success, won.metrics]).toEqual([true, { steps: 4 }]);
    expect(won.asked[0]!.messages.at(-1)!.content).toMatch(/put a mug on the desk.*Commands: .*go to shelf 1/s);
    const lost = await play(task!, []);
    expect([lost.success, lost.asked.length]).toEqual([false, 50]);
  });
});

describe.skipIf(!python || noBubblewrap !== undefined)("swebench: a record of its own form", () => {
  const folder = newFolder();
  const repository = join(folder, "repositories", "acme__sums");
  const git = (...args: readonly string[]) => {
    const own = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-C", repository];
    return execFileSync("git", [...own, ...args], { encoding: "utf8" }).trim();
  };
  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), text);
  };
  const testFile = `import sys
sys.path.insert(0, ".")
from sums import add, double
def check(name, passed):
    print("PASSED" if passed else "FAILED", "tests/test_sums.py::" + name)
check("test_add", add(2, 3) == 5)
check("test_double", double(4) == 8)
`;

  function makeRecord() {
    mkdirSync(repository, { recursive: true });
    git("init", "--quiet");
    write("sums.py", "def add(a, b):\n    return a - b\n\ndef double(a):\n    return a * 2\n");
    write("tests/test_sums.py", "");
    git("add", "-A");
    git("commit", "--quiet", "-m", "first");
    const base = git("rev-parse", "HEAD");
    write("tests/test_sums.py", testFile);
    const testPatch = `${git("diff")}\n`;
    // the fix is in the repository's history, where the model must not find it
    write("sums.py", "def add(a, b):\n    return a + b\n\ndef double(a):\n    return a * 2\n");
    git("commit", "--quiet", "-am", "the fix");
    const script = `#!/bin/bash
set -uxo pipefail
cd /testbed
git checkout ${base} tests/test_sums.py
git apply -v - <<'EOF_1'
${testPatch}EOF_1
: '>>>>> Start Test Output'
python3 tests/test_sums.py
: '>>>>> End Test Output'
git checkout ${base} tests/test_sums.py
`;
    const row = {
      ...{ instance_id: "acme__sums-1", repo: "acme/sums", base_commit: base, version: "1", patch: "" },
      ...{ problem_statement: "add subtracts", test_patch: testPatch, image: "none" },
      FAIL_TO_PASS: '["tests/test_sums.py::test_add"]',
      PASS_TO_PASS: '["tests/test_sums.py::test_double"]',
      ...{ eval_script: script, log_parser: "parse_log_pytest", eval_type: "pass_and_fail" },
    };
    writeFileSync(join(folder, "test.jsonl"), `${JSON.stringify(row)}\n`);
  }
  const bash = (command: string): Turn => ({ calls: [["bash", { command }]] });

  test("resolved by the fix; not by half of it, by a change that breaks something, or by none", async () => {
    makeRecord();
    const swe = benchmarkOf("swe-bench");
    const [task] = await swe.load(folder);
    const fixed = await play(task!, [
      bash("git log --all --oneline; cat sums.py"),
      bash("sed -i 's/a - b/a + b/' sums.py"),
      {},
    ]);
    expect(fixed).toMatchObject({ success: true, output: { patch: expect.stringContaining("+    return a + b") } });
    const [log] = fixed.asked[1]!.messages.slice(-1);
    expect(log).toMatchObject({ role: "tool", content: expect.stringContaining("return a - b") });
    expect(String(log!.content)).not.toContain("the fix");
    const broken = await play(task!, [bash("sed -i 's/a - b/a + b/; s/a \\* 2/a * 3/' sums.py"), {}]);
    expect(broken.success).toBe(false);
    expect((await play(task!, [bash("touch other.py"), {}])).success).toBe(false);
    // a test that is changed is put back before it runs
    const cheat = await play(task!, [
      bash("echo 'print(\"PASSED tests/test_sums.py::test_add\")' > tests/test_sums.py"),
      {},
    ]);
    expect(cheat.success).toBe(false);
    const idle = await play(task!, [{ text: "All is well." }]);
    expect(idle).toMatchObject({ success: false, output: { patch: "" } });
    const attempt = { task: task!.id, attempt: 0, model: "org/m" };
    const paths = await swe.write!(join(folder, "out"), [task!], [{ ...attempt, success: true, output: fixed.output }]);
    const [predictions, report] = paths.map((path) => JSON.parse(readFileSync(path, "utf8")));
    expect(predictions).toMatchObject({ instance_id: "acme__sums-1", model_name_or_path: "org/m" });
    expect(report).toMatchObject({
      total_instances: 1,
      resolved_instances: 1,
      resolved_ids: ["acme__sums-1"],
      schema_version: 2,
    });
  });

  test("the official report has the same fields", () => {
    const code = "import inspect, swebench.harness.reporting as r; print(inspect.getsource(r.make_run_report))";
    const source = run(code);
    const report = JSON.parse(readFileSync(join(folder, "out.report.json"), "utf8"));
    for (const name of Object.keys(report)) expect(source).toContain(`"${name}"`);
  });

  test("a repository that is not there, and one without the commit", async () => {
    const other = newFolder();
    const row = JSON.parse(readFileSync(join(folder, "test.jsonl"), "utf8"));
    writeFileSync(join(other, "test.jsonl"), `${JSON.stringify(row)}\n`);
    await expect(benchmarkOf("swe-bench").load(other)).rejects.toThrow(/repositories\/acme__sums.*git clone --bare/);
    mkdirSync(join(other, "repositories", "acme__sums"), { recursive: true });
    const [task] = await benchmarkOf("swe-bench").load(other);
    await expect(play(task!, [{}])).rejects.toThrow(/^bad-benchmark-data: .*a Git repository that has the commit/s);
    const strange = newFolder();
    cpSync(join(folder, "repositories"), join(strange, "repositories"), { recursive: true });
    writeFileSync(join(strange, "test.jsonl"), `${JSON.stringify({ ...row, log_parser: "parse_all" })}\n`);
    const [unknown] = await benchmarkOf("swe-bench").load(strange);
    await expect(play(unknown!, [bash("touch new.py"), {}])).rejects.toThrow(/^bad-benchmark-data: .*'parse_all'/);
  });
});
