import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { defaultSandbox } from "../../tool/sandbox/default-sandbox.ts";
import { processSandbox } from "../../tool/sandbox/process-sandbox.ts";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import { playEpisode } from "../environments/testing/play-episode.ts";
import { type MinedTask, mineRepository } from "./mine-repository.ts";
import { minedRepositories, passesTests } from "./mined-repositories.ts";
import { pythonTestRunner } from "./test-runner.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-mined-"));
afterAll(() => rmSync(folder, { recursive: true }));

const sandbox = noBubblewrap === undefined ? {} : { sandbox: processSandbox() };

/** A repository with one commit for each entry: a message, and files to write; null removes one. */
function makeRepository(name: string, commits: readonly [string, Record<string, string | null>][]): string {
  const path = join(folder, name);
  mkdirSync(path);
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-C", path, ...args], { encoding: "utf8" });
  git("init", "-q");
  for (const [message, files] of commits) {
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(path, file)), { recursive: true });
      if (text === null) rmSync(join(path, file));
      else writeFileSync(join(path, file), text);
    }
    git("add", "-A");
    git("commit", "-q", "--allow-empty", "-m", message);
  }
  return path;
}

const areas = {
  wrong: "def area(a, b):\n    return a + b\n\ndef twice(a):\n    return 2 * a\n",
  right: "def area(a, b):\n    return a * b\n\ndef twice(a):\n    return 2 * a\n",
};
const firstTests = "from shapes import twice\n\ndef test_twice():\n    assert twice(3) == 6\n";
const moreTests = `${firstTests}\nfrom shapes import area\n\ndef test_area():\n    assert area(3, 4) == 12\n`;

const python = makeRepository("python", [
  ["begin", { "shapes.py": areas.wrong, "test_shapes.py": firstTests }],
  ["fix: words only", { "README.md": "Shapes." }],
  ["area is a product", { "notes.txt": "no fix by its message" }],
  ["Fix area\n\nIt was a sum.", { "shapes.py": areas.right, "test_shapes.py": moreTests }],
  ["fix tests alone", { "test_shapes.py": `${moreTests}\n` }],
  ["fix twice, and break area", { "shapes.py": areas.wrong.replace("2 * a", "a + a") }],
]);

describe("a history of Python", async () => {
  const { tasks, commits } = await mineRepository(python, sandbox);

  test("only the commit whose test failed before it is a task", () => {
    expect(tasks).toHaveLength(1);
    expect(tasks[0]).toMatchObject({
      repository: "python",
      statement: "Fix area\n\nIt was a sum.",
      failToPass: ["test_shapes.py::test_area"],
      passToPass: ["test_shapes.py::test_twice"],
      runner: "python",
    });
    expect(tasks[0]!.files["shapes.py"]).toBe(areas.wrong);
    expect(tasks[0]!.files["test_shapes.py"]).toBe(firstTests);
    expect(tasks[0]!.patch).toContain("+    return a * b");
    expect(tasks[0]!.patch).not.toContain("test_area");
    expect(tasks[0]!.testPatch).toContain("+def test_area():");
  });

  test("what became of the others is said, the newest first", () => {
    expect(commits.map((each) => (each.kind === "task" ? "task" : each.why))).toEqual([
      "fixes-no-test",
      "no-source-changed",
      "task",
      "message",
      "fixes-no-test",
      "message",
    ]);
  });

  test("the fix pays; the bug, other tests and an early exit do not", async () => {
    const env = minedRepositories({ tasks: { train: tasks }, ...sandbox });
    const call = (name: string, given: object) =>
      `<tool_call>${JSON.stringify({ name, arguments: given })}</tool_call>`;
    const edit = (oldStr: string, newStr: string, path = "shapes.py") =>
      call("file_editor", { command: "str_replace", path, old_str: oldStr, new_str: newStr });
    const play = async (...said: string[]) => {
      const task = await env.tasks.at("train", 0);
      const played = await playEpisode(env, task, [...said, call("run_tests", {}), call("finish", {})]);
      expect(played.stop).toBe("completed");
      return Object.values(played.scores)[0]!.total;
    };
    expect(await play(edit("a + b", "a * b"))).toBe(1);
    expect(await play(edit("a + b", "a - b"))).toBe(0);
    expect(await play(edit("== 6", "== 6 or True", "test_shapes.py"))).toBe(0);
    expect(await play(edit("    return a + b", "    import os; os._exit(0)"))).toBe(0);
    // a file that the runner of the tests would import in place of the library's
    const passes = `import os\nfor name in ("test_area", "test_twice"):\n    os.write(1, b'{"test": "test_shapes.py::' + name.encode() + b'", "passed": true}\\n')\nos._exit(0)\n`;
    const cheat = ["json", "signal", "inspect"].map((name) =>
      call("file_editor", { command: "create", path: `${name}.py`, file_text: passes }),
    );
    expect(await play(...cheat)).toBe(0);
    // a verdict of one's own, written to whatever is open
    const forged = `    import os
    for at in range(3, 64):
        try: os.write(at, b"passed\\n")
        except OSError: pass
    os._exit(0)`;
    expect(await play(edit("    return a + b", forged))).toBe(0);
  });

  test("code that passes whatever a test expects is not paid: it passes with other values too", async () => {
    const [task] = tasks;
    expect(task!.canaries).toEqual(["test_shapes.py::test_area", "test_shapes.py::test_twice"]);
    const judging = {
      runner: pythonTestRunner,
      sandbox: sandbox.sandbox ?? defaultSandbox(),
      limits: { timeoutMs: 20_000, memoryMb: 256 },
    };
    const isPaid = (source: string, canaries = task!.canaries ?? []) =>
      passesTests({ ...task!, canaries }, { ...task!.files, "shapes.py": source }, judging);
    const equal = "class Any(int):\n    __eq__ = lambda s, o: True\n    __hash__ = int.__hash__\n";
    const equalsAll = `${equal}def area(a, b):\n    return Any(0)\n\ndef twice(a):\n    return Any(0)\n`;
    const reads =
      "import sys\ndef area(*a):\n    return [c for c in sys._getframe(1).f_code.co_consts if isinstance(c, int)][-1]\n\ntwice = area\n";
    // without canaries code is paid that equals everything
    const paid = [isPaid(areas.right), isPaid(equalsAll, []), isPaid(equalsAll), isPaid(reads)];
    expect(await Promise.all(paid)).toEqual([true, true, false, false]);
  });
});

test("tests that depend on the seed of hash tables count for nothing", async () => {
  const tests = "from bag import first\n\ndef test_first():\n    assert first() == 1\n";
  const seeded = 'import os\n\ndef first():\n    return int(os.environ["PYTHONHASHSEED"])\n';
  const path = makeRepository("flaky", [
    ["begin", { "bag.py": "def first():\n    return 0\n", "test_bag.py": tests }],
    ["fix first", { "bag.py": seeded }],
  ]);
  const { tasks } = await mineRepository(path, sandbox);
  expect(tasks).toEqual([]);
});

test("a history of JavaScript is run by Node", async () => {
  const begin = {
    "package.json": '{"type":"module"}',
    "max.js": "export const max = (a, b) => a;\n",
    "max.test.js": 'import { test } from "node:test";\ntest("loads", () => {});\n',
  };
  const tests =
    'import assert from "node:assert";\nimport { describe, test } from "node:test";\nimport { max } from "./max.js";\n' +
    'describe("max", () => { test("second", () => assert.equal(max(1, 2), 2)); test("first", () => assert.equal(max(2, 1), 2)); });\n';
  const path = makeRepository("javascript", [
    ["begin", begin],
    ["fix max", { "max.js": "export const max = (a, b) => (a > b ? a : b);\n", "max.test.js": tests }],
  ]);
  const { tasks } = await mineRepository(path, sandbox);
  expect(tasks.map(({ failToPass, passToPass }) => ({ failToPass, passToPass }))).toEqual([
    { failToPass: ["max.test.js::max > second"], passToPass: ["max.test.js::max > first"] },
  ]);
});

test("links, other bytes and a fix that is no text are left out", async () => {
  const path = join(folder, "odd");
  makeRepository("odd", [["begin", { "test_a.py": firstTests, "shapes.py": areas.wrong }]]);
  symlinkSync("/etc/passwd", join(path, "link"));
  writeFileSync(join(path, "picture.bin"), Buffer.from([0, 255, 1]));
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b", "-C", path, ...args]);
  git("add", "-A");
  git("commit", "-q", "-m", "fix the picture");
  const { commits } = await mineRepository(path, sandbox);
  expect(commits[0]).toMatchObject({ kind: "left-out", why: "not-text" });
});

test("hooks and difference programs of a repository are not run", async () => {
  const path = makeRepository("hostile", [
    ["begin", { "a.py": "x = 1\n", "test_a.py": "from a import x\n\ndef test_x():\n    assert x == 2\n" }],
    ["fix x", { "a.py": "x = 2\n" }],
  ]);
  const mark = join(folder, "was-run");
  const run = `touch ${mark}; false`;
  for (const key of ["core.fsmonitor", "diff.external", "core.pager", "pager.log"]) {
    execFileSync("git", ["-C", path, "config", key, run]);
  }
  const { tasks } = await mineRepository(path, sandbox);
  expect(tasks.map(({ failToPass }: MinedTask) => failToPass)).toEqual([["test_a.py::test_x"]]);
  expect(() => execFileSync("ls", [mark], { stdio: "ignore" })).toThrow();
});

test("a folder that is no repository, an unknown revision, a misspelt option and an abort are told", async () => {
  await expect(mineRepository(tmpdir())).rejects.toThrow(/bad-repository: got .*not a git repository/);
  await expect(mineRepository(python, { revision: "--output=x" })).rejects.toThrow("bad-repository");
  await expect(mineRepository(python, { commit: 3 } as never)).rejects.toThrow('did you mean "commits"?');
  await expect(mineRepository(python, { commits: 0 })).rejects.toThrow("bad-option");
  await expect(mineRepository(python, sandbox, AbortSignal.abort())).rejects.toThrow(/abort/i);
});
