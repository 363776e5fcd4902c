import { describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { demonstrate } from "../../rollout/run-rollout.ts";
import type { Task } from "../../schema/task.ts";
import { bubblewrapSandbox } from "../../tool/sandbox/bubblewrap-sandbox.ts";
import { processSandbox } from "../../tool/sandbox/process-sandbox.ts";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import { Episode } from "../episode.ts";
import { type RepositoriesOptions, repositories } from "./repositories.ts";
import { bugKinds } from "./repository-mutations.ts";
import { callOf, type RepositoryTask } from "./repository-tasks.ts";

const sandbox = noBubblewrap === undefined ? bubblewrapSandbox() : processSandbox();
const make = (options: Partial<RepositoriesOptions> = {}) => repositories({ sandbox, ...options });
const tasksOf = async (count: number, options: Partial<RepositoriesOptions> = {}, split = "train") =>
  await Promise.all(Array.from({ length: count }, async (_, index) => await make(options).tasks.at(split, index)));

function fixed({ files, bug }: RepositoryTask): Record<string, string> {
  const lines = files[bug.path]!.split("\n");
  const line = lines[bug.line - 1]!;
  expect(line.trim()).toBe(bug.wrong);
  return {
    ...files,
    [bug.path]: lines
      .with(
        bug.line - 1,
        line.replace(bug.wrong, () => bug.right),
      )
      .join("\n"),
  };
}

/** Says the texts, one a turn. */
async function play(task: Task<RepositoryTask>, texts: readonly string[], options: Partial<RepositoriesOptions> = {}) {
  const signal = new AbortController().signal;
  const episode = new Episode(make(options), task, { signal, sandbox });
  let next = await episode.start();
  for (const text of texts) if ("role" in next) next = await episode.step(text);
  const { scores, turns, stop } = await episode.finish("role" in next ? { stop: "max-turns" } : next);
  return {
    score: scores.agent!.total,
    success: scores.agent!.success,
    told: turns.map((turn) => turn.observation),
    stop,
  };
}

const say = (name: string, given: object = {}) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;

describe("tasks", () => {
  test("Python agrees about every expected value: all pass when fixed, some visible and some hidden ones fail before", async () => {
    const tasks = (await tasksOf(90)).map(({ data }) => data);
    const jobs = tasks.flatMap((task) =>
      [task.files, fixed(task)].map((files) => {
        // names are unique in a repository: its modules can be one
        const modules = Object.entries(files).filter(([path]) => path !== "tests.py");
        const visible = [...files["tests.py"]!.matchAll(/assert (.*) == (-?\d+)/g)];
        return {
          code: modules.map(([, text]) => text.replaceAll(/^from .*$/gm, "")).join("\n"),
          calls: [...visible.map(([, call]) => call!), ...task.hidden.map(callOf)],
          visible: visible.map(([, , value]) => Number(value)),
        };
      }),
    );
    const program = [
      "import json, sys",
      "for job in json.load(sys.stdin):",
      "    names = {}",
      "    exec(job['code'], names)",
      "    print(json.dumps([eval(call, names) for call in job['calls']]))",
    ].join("\n");
    const box = await sandbox.open();
    const ended = await box.exec("python3", { args: ["-c", program], input: JSON.stringify(jobs) });
    await box.close();
    expect(ended).toMatchObject({ kind: "exited", code: 0, stderr: "" });
    const values = ended.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as number[]);
    for (const [index, task] of tasks.entries()) {
      const { visible } = jobs[2 * index]!;
      const expected = [...visible, ...task.hidden.map((each) => each.expected)];
      const before = values[2 * index]!;
      expect(values[2 * index + 1]).toEqual(expected);
      expect(before.slice(0, visible.length)).not.toEqual(visible);
      expect(before.slice(visible.length)).not.toEqual(expected.slice(visible.length));
    }
  });

  test("levels: more files, and tests further away from the bug", async () => {
    for (const level of [1, 2, 3]) {
      for (const { data } of await tasksOf(10, { levels: [level] })) {
        expect(Object.keys(data.files)).toHaveLength(level + 2);
        const buggy = data.bug.path.replace(".py", "");
        expect(data.files["tests.py"]!.includes(`from ${buggy} import`)).toBe(level === 1);
      }
    }
  });

  test("every kind of bug is drawn alone, at every level", async () => {
    for (const kind of bugKinds) {
      const tasks = await tasksOf(9, { kinds: [kind] });
      expect(new Set(tasks.map(({ data }) => data.kind))).toEqual(new Set([kind]));
    }
  });

  test("neither the order of files nor that of functions tells where the bug is", async () => {
    const tasks = await tasksOf(60, { levels: [1] });
    const first = tasks.filter(({ data }) => Object.keys(data.files)[0] === data.bug.path).length;
    expect(first).toBeGreaterThan(15);
    expect(first).toBeLessThan(45);
  });

  test("bugs of the test split are never trained on", async () => {
    const keys = async (split: string) =>
      new Set((await tasksOf(200, {}, split)).map(({ data: { bug } }) => `${bug.right} -> ${bug.wrong}`));
    const [train, held] = [await keys("train"), await keys("test")];
    expect(held.size).toBeGreaterThan(40);
    expect([...held].filter((key) => train.has(key))).toEqual([]);
  });

  test("hidden tests are other calls than those of the repository", async () => {
    for (const { data } of await tasksOf(30)) {
      const texts = Object.values(data.files).join("\n");
      expect(data.hidden.filter((each) => texts.includes(`assert ${callOf(each)} ==`))).toEqual([]);
    }
  });

  test("functions say what they should do, unless told otherwise", async () => {
    const [explained, silent] = [await tasksOf(1), await tasksOf(1, { explained: false })];
    expect(explained[0]!.data.files[explained[0]!.data.bug.path]).toContain("    # ");
    expect(Object.values(silent[0]!.data.files).join("")).not.toContain("#");
  });
});

test("the expert solves it, with fewer than 150 sampled tokens, each of them one byte", async () => {
  const renderContext = {
    renderer: compactRenderer({ tokenizer: byteTokenizer() }),
    engine: { info: { contextLength: 1e5 } },
  };
  const shown = (await tasksOf(6)).map((task, i) =>
    demonstrate(make(), task, renderContext, { id: `d${i}`, seed: i, sandbox }),
  );
  for (const { trajectories } of await Promise.all(shown)) {
    const [{ score, turns }] = trajectories as [(typeof trajectories)[number]];
    expect(score.success).toBe(true);
    expect(turns).toHaveLength(5);
    const tokens = turns.reduce((sum, { span }) => sum + span.end - span.start, 0);
    expect(tokens).toBeGreaterThan(20);
    expect(tokens).toBeLessThan(150);
  }
});

describe("scoring", () => {
  const one = async () => (await tasksOf(1))[0]!;

  test("a fix by the shell counts, and modules that it adds", async () => {
    const task = await one();
    const text = fixed(task.data)[task.data.bug.path]!;
    const command = `mkdir -p deep && touch deep/__init__.py && cat > deep/part.py <<'EOF'\n${text}EOF\necho 'from deep.part import *' > ${task.data.bug.path}`;
    const { score, told } = await play(task, [say("bash", { command }), say("finish")], { style: "tags" });
    expect(score).toBe(1);
    expect(told[0]).toBe("");
  });

  test("passing tests that were rewritten, or exiting early, does not pay", async () => {
    const task = await one();
    const path = task.data.bug.path;
    const cheats = [
      "echo 'def test_1(): pass' > tests.py",
      `echo 'import os; os._exit(0)' > ${path}`,
      `cat >> ${path} <<'EOF'\nclass Any(int):\n    def __eq__(self, other): return True\nEOF\nsed -i 's/return .*/return Any(1)/' ${path}`,
      "ln -sf /etc/passwd tests.py; rm -f *.py",
    ];
    for (const command of cheats) {
      const { success, stop } = await play(task, [say("bash", { command }), say("finish")], { style: "tags" });
      expect({ command, success, stop }).toEqual({ command, success: false, stop: "completed" });
    }
  });

  test("a repository in which nothing was changed is not solved, whatever is said", async () => {
    expect(await play(await one(), ["test", "done"])).toMatchObject({ score: 0, stop: "completed" });
    expect(await play(await one(), ["=it is fixed"])).toMatchObject({ score: 0, stop: "completed" });
  });

  test("code that cannot be parsed is told by the tests, and scores nothing", async () => {
    const task = await one();
    const { bug } = task.data;
    const { told, score } = await play(task, [`edit ${bug.path} ${bug.line} return (`, "test", "done"]);
    expect(told[1]).toMatch(/^SyntaxError: .*line \d+\)$/);
    expect(score).toBe(0);
  });
});

test("a word for the shell that is no tool, and a file that is not there, are told", async () => {
  const [task] = await tasksOf(1);
  const { told } = await play(task!, ["view nothing", "edit nothing 1 x", "dance"]);
  expect(told[0]).toContain("There is no file nothing.py.");
  expect(told[1]).toContain("There is no file nothing.py.");
  expect(told[2]).toContain("no tool dance");
});

test("tags style says how many steps are left", async () => {
  const [task] = await tasksOf(1);
  const episode = new Episode(make({ style: "tags" }), task!, { signal: new AbortController().signal, sandbox });
  const next = await episode.start();
  expect("messages" in next && next.messages.at(-1)?.content).toMatch(/Steps Remaining: 12$/);
  await episode.finish({ stop: "max-turns" });
});

test.each([
  [{ levels: [] }, "levels.length = 0"],
  [{ levels: [1, 4] }, "levels = 4"],
  [{ levels: [4, 1] }, "levels = 4"],
  [{ kinds: ["typo"] }, "kinds = typo"],
  [{ turns: 0 }, "turns = 0"],
  [{ level: 1 }, 'did you mean "levels"'],
])("refuses %j", (options, problem) => {
  expect(() => repositories(options as object)).toThrow(problem);
});
