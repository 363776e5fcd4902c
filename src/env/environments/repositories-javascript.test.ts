import { describe, expect, test } from "vitest";
import type { Task } from "../../schema/task.ts";
import { bubblewrapSandbox } from "../../tool/sandbox/bubblewrap-sandbox.ts";
import { processSandbox } from "../../tool/sandbox/process-sandbox.ts";
import { noBubblewrap } from "../../tool/sandbox/testing/bubblewrap-here.ts";
import { Episode } from "../episode.ts";
import { type RepositoriesOptions, repositories } from "./repositories.ts";
import { rightFiles } from "./repository-expert.ts";
import { commitsOf, gitFolder } from "./repository-history.ts";
import { loadingJavaScript } from "./repository-javascript.ts";
import { callOf, type RepositoryTask } from "./repository-tasks.ts";

const sandbox = noBubblewrap === undefined ? bubblewrapSandbox({ warm: "node" }) : processSandbox();
const make = (options: Partial<RepositoriesOptions> = {}) =>
  repositories({ sandbox, languages: ["javascript"], ...options });
const tasksOf = async (count: number, options: Partial<RepositoriesOptions> = {}) =>
  await Promise.all(Array.from({ length: count }, async (_, index) => await make(options).tasks.at("train", index)));
const say = (name: string, given: object = {}) =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`;

async function play(task: Task<RepositoryTask>, texts: readonly string[], options: Partial<RepositoriesOptions> = {}) {
  const env = make(options);
  const episode = new Episode(env, task, { signal: new AbortController().signal, sandbox });
  let next = await episode.start();
  for (const text of texts) if ("role" in next) next = await episode.step(text);
  const { scores, turns, stop } = await episode.finish("role" in next ? { stop: "max-turns" } : next);
  return { score: scores.agent!.total, told: turns.map((turn) => turn.observation), stop };
}

describe("JavaScript", () => {
  test("Node agrees about every expected value: all pass when fixed, some visible and some hidden ones fail before", async () => {
    for (const { data } of await tasksOf(90)) {
      const visible = [...data.files["tests.js"]!.matchAll(/equal\((\w+)(.*), (-?\d+)\);/g)];
      const moduleOf = (name: string) =>
        Object.entries(data.files).find(([, text]) => text.includes(`function ${name}(`))![0];
      const calls = [
        ...visible.map(([, name, args]) => `repository(${JSON.stringify(moduleOf(name!))}).${name}${args} + 0`),
        ...data.hidden.map((each) => `repository("${each.module}.js").${callOf(each)} + 0`),
      ];
      const expected = [...visible.map(([, , , value]) => Number(value)), ...data.hidden.map((each) => each.expected)];
      const [before, after] = [data.files, rightFiles(data)].map((files): number[] =>
        new Function(`${loadingJavaScript(files)} return [${calls.join(", ")}];`)(),
      );
      expect(after).toEqual(expected);
      expect(before!.slice(0, visible.length)).not.toEqual(expected.slice(0, visible.length));
      expect(before!.slice(visible.length)).not.toEqual(expected.slice(visible.length));
    }
  });

  test("several files with functions that call each other, at three levels", async () => {
    for (const level of [1, 2, 3]) {
      for (const { data } of await tasksOf(5, { levels: [level] })) {
        expect(Object.keys(data.files)).toHaveLength(level + 2);
        expect(Object.values(data.files).filter((text) => text.includes("require("))).toHaveLength(level);
      }
    }
  });

  test("the tests tell what fails, a fix is found and pays", async () => {
    const [task] = await tasksOf(1);
    const { bug } = task!.data;
    const file = bug.path.replace(".js", "");
    const { told, score } = await play(task!, [
      "test",
      `view ${file}`,
      `edit ${file} ${bug.line} ${bug.right}`,
      "test",
      "done",
    ]);
    expect(told[0]).toMatch(/^\w+\(\d+, \d+\) == -?\d+ but it is -?\d+\n.*\d of \d passed$/s);
    expect(told[1]).toContain(`${bug.line}   ${bug.wrong}`);
    expect(told[3]).toMatch(/^(\d+) of \1 passed$/);
    expect(score).toBe(1);
  });

  test("code that cannot be parsed is told, and rewriting tests or exiting early does not pay", async () => {
    const [task] = await tasksOf(1);
    const { bug } = task!.data;
    const broken = await play(task!, [`edit ${bug.path} ${bug.line} return (`, "test", "done"]);
    expect(broken.told[1]).toMatch(/^SyntaxError: /);
    const cheats = [
      "echo 'exports.test_1 = () => {};' > tests.js",
      `echo 'process.exit(0)' > ${bug.path}`,
      `echo 'globalThis.Object.is = () => true;' >> ${bug.path}`,
      `sed -i 's/return .*/return { valueOf: () => 1, [Symbol.toPrimitive]: () => 1 };/' ${bug.path}`,
    ];
    for (const command of cheats) {
      const { score } = await play(task!, [say("bash", { command }), say("finish")], { style: "tags" });
      expect({ command, score }).toEqual({ command, score: 0 });
    }
  });

  test("both languages are drawn where both are asked for, and Python's tasks alone stay what they were", async () => {
    const both = await tasksOf(30, { languages: ["python", "javascript"] });
    expect(new Set(both.map(({ data }) => data.language)).size).toBe(2);
    const python = await tasksOf(1, { languages: ["python"] });
    expect(python[0]!.data).toEqual((await repositories().tasks.at("train", 0)).data);
  });

  test("refuses another language", () => {
    expect(() => make({ languages: ["ruby" as "python"] })).toThrow("languages = ruby");
    expect(() => make({ languages: [] })).toThrow("languages.length = 0");
  });
});

describe("history", () => {
  test.each(["python", "javascript"] as const)("git reads it: %s", async (language) => {
    const [task] = await tasksOf(1, { languages: [language], levels: [2] });
    const { bug } = task!.data;
    const command = `git status --short; git log --oneline --format=%s; git log --format=%s -S '${bug.wrong}' -- ${bug.path} | head -1; git fsck`;
    const { told } = await play(task!, [say("bash", { command }), say("finish")], {
      languages: [language],
      style: "tags",
      history: true,
    });
    const lines = told[0]!.split("\n");
    expect(lines).toHaveLength(6);
    expect(lines[0]).toBe("Add tests");
    expect(lines.slice(1, 5).filter((line) => line.startsWith("Add "))).toHaveLength(3);
    expect(lines[5]).toMatch(/^Change \w+$/);
    expect(lines.indexOf(lines[5]!)).toBeGreaterThan(1);
  });

  test("modules come after those they call, and the last commit is the repository", async () => {
    for (const { data } of await tasksOf(20, { levels: [3] })) {
      const commits = commitsOf(data.files, data.bug, rightFiles(data)[data.bug.path]!);
      expect(commits).toHaveLength(6);
      expect(commits.at(-1)!.files).toEqual(data.files);
      for (const { files } of commits) {
        for (const text of Object.values(files)) {
          for (const [, needed] of text.matchAll(/require\("\.\/(.*?)"\)/g)) expect(files[needed!]).toBeDefined();
        }
      }
    }
  });

  test("there is none unless it is asked for", async () => {
    const [task] = await tasksOf(1);
    const { told } = await play(task!, [say("bash", { command: "ls -a | grep git" }), say("finish")], {
      style: "tags",
    });
    expect(told[0]).not.toContain(".git");
    expect(Object.keys(gitFolder([{ message: "one", files: { a: "b" } }]))).toContain(".git/index");
  });
});
