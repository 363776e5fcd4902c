import { afterEach, describe, expect, test } from "vitest";
import { fakeContext } from "../fake-context.ts";
import { type Tool, ToolError } from "../tool.ts";
import { codeReminder } from "./code-reminder.ts";
import { codeTools } from "./code-tools.ts";
import { shortCodeTools } from "./short-code-tools.ts";
import type { CodeEvent } from "./workspace.ts";

// boxes of `fakeContext` are processes: what is tested here is the tools, not the boundary
const files = {
  "shop.py": "def price(a):\n    return a + 1\n\ndef fee(a):\n    return a + 2\n",
  "notes/todo.txt": "price\n",
};
const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

function open(make: typeof codeTools<CodeEvent[]> | typeof shortCodeTools<CodeEvent[]>, stepMs = 10_000) {
  const context = fakeContext<CodeEvent[]>([]);
  closing.push(() => context.close());
  const tests = { command: "sh", args: ["-c", "grep -c 'a + 1' shop.py; grep -q 'a + 3' shop.py"] };
  const tools: Readonly<Record<string, Tool<CodeEvent[]>>> = make({
    files: () => files,
    tests,
    stepMs,
    note: (state, event) => void state.push(event),
  });
  const call = async (name: string, input: unknown = {}) => {
    const checked = await tools[name]!.check(input);
    return checked.ok ? await tools[name]!.run(checked.value, context) : checked.problem;
  };
  const edit = (input: object) => call("file_editor", input);
  return { call, edit, context };
}

describe("bash", () => {
  test("folder, variables and functions stay, also after an exit", async () => {
    const { call } = open(codeTools);
    const first = 'cd notes; export WHO="a b"; list=(x "y z"); greet() { echo "hi $1"; }; exit 3';
    expect(await call("bash", { command: first })).toBe("(exit code 3)");
    expect(
      await call("bash", {
        command: 'basename "$PWD"; greet "$WHO"; declare -p list | grep -o "y z"; sh -c \'echo $WHO\'',
      }),
    ).toBe("notes\nhi a b\ny z\na b");
  });

  test("what cannot be parsed is told with its code, and changes nothing", async () => {
    const { call } = open(codeTools);
    await call("bash", { command: "kept=1" });
    expect(await call("bash", { command: "if then" })).toMatch(/syntax error[\s\S]*\(exit code [12]\)/);
    expect(await call("bash", { command: "echo $kept" })).toBe("1");
  });

  test("a command that takes too long is the policy's doing", async () => {
    const { call } = open(codeTools, 300);
    const late = call("bash", { command: "echo begun; sleep 30" });
    await expect(late).rejects.toBeInstanceOf(ToolError);
    await expect(late).rejects.toThrow("The command took longer than 300 ms and was ended.");
  });
});

describe("file_editor", () => {
  test("shows files with line numbers, a range of them, and folders", async () => {
    const { edit } = open(codeTools);
    expect(await edit({ command: "view", path: "shop.py", view_range: [4, 5] })).toBe(
      "     4\tdef fee(a):\n     5\t    return a + 2",
    );
    expect(await edit({ command: "view", path: "." })).toBe("notes\nnotes/todo.txt\nshop.py");
    await expect(edit({ command: "view", path: "shop.py", view_range: [9, 12] })).rejects.toThrow("no lines 9 to 12");
  });

  test("creates, replaces, inserts and undoes", async () => {
    const { edit, context } = open(codeTools);
    await edit({ command: "create", path: "tax/rate.py", file_text: "one\n" });
    await edit({ command: "insert", path: "tax/rate.py", insert_line: 1, new_str: "two" });
    await edit({ command: "str_replace", path: "./tax/rate.py", old_str: "one", new_str: "$& three" });
    expect(context.state.at(-1)).toEqual({ kind: "edited", path: "tax/rate.py", text: "$& three\ntwo\n" });
    await edit({ command: "undo_edit", path: "tax/rate.py" });
    await edit({ command: "undo_edit", path: "tax/rate.py" });
    expect(await edit({ command: "view", path: "tax/rate.py" })).toBe("     1\tone");
    await expect(edit({ command: "undo_edit", path: "tax/rate.py" })).rejects.toThrow("no edit of tax/rate.py to undo");
  });

  test.each([
    [{ command: "str_replace", path: "shop.py", old_str: "return a", new_str: "" }, "more than once, at lines 2 and 5"],
    [{ command: "str_replace", path: "shop.py", old_str: "tea", new_str: "" }, "old_str is not in shop.py"],
    [{ command: "str_replace", path: "shop.py" }, "str_replace needs old_str"],
    [{ command: "create", path: "shop.py", file_text: "" }, "There is a file shop.py already"],
    [{ command: "insert", path: "shop.py", insert_line: 9, new_str: "x" }, "beyond the 5 lines"],
    [{ command: "view", path: "gone.py" }, "There is no file gone.py"],
    [{ command: "view", path: "../../etc/passwd.txt" }, "a path out of the box"],
    [{ command: "create", path: "/etc/x.py", file_text: "" }, "an absolute path"],
    [{ command: "create", path: "shop.py/x.py", file_text: "" }, "cannot be used"],
  ])("tells what is wrong with %j", async (input, problem) => {
    const failed = open(codeTools).edit(input);
    await expect(failed).rejects.toBeInstanceOf(ToolError);
    await expect(failed).rejects.toThrow(problem);
  });

  test("bytes that are no text are told, not shown", async () => {
    const { edit, call } = open(codeTools);
    await call("bash", { command: "printf '\\377\\376' > odd.bin" });
    await expect(edit({ command: "view", path: "odd.bin" })).rejects.toThrow(new ToolError("odd.bin is not text."));
  });
});

test("search: lines in the order of paths, text taken as it is, and errors told", async () => {
  const { call } = open(codeTools);
  expect(await call("search", { text: "price" })).toBe("notes/todo.txt:1:price\nshop.py:1:def price(a):");
  expect(await call("search", { text: "-e (a" })).toBe("No line has it.");
  await expect(call("search", { text: "x", path: "gone" })).rejects.toBeInstanceOf(ToolError);
});

test("run_tests tells what was printed, and notes whether they passed; finish ends", async () => {
  const { call, edit, context } = open(codeTools);
  expect(await call("run_tests")).toBe("1");
  expect(context.state.at(-1)).toEqual({ kind: "tested", passed: false });
  await edit({ command: "str_replace", path: "shop.py", old_str: "a + 1", new_str: "a + 3" });
  expect(await call("run_tests")).toBe("0");
  expect(context.state.at(-1)).toEqual({ kind: "tested", passed: true });
  await call("finish", { answer: "fixed" });
  expect(context.answers).toEqual(["fixed"]);
});

test("edits are kept as a diff with the turn, and whether the tests passed", async () => {
  const { edit, call, context } = open(codeTools);
  await edit({ command: "str_replace", path: "shop.py", old_str: "a + 2", new_str: "a + 3" });
  await edit({ command: "create", path: "new.py", file_text: "x = 1\n" });
  await call("run_tests");
  const shop = [
    ...["--- a/shop.py", "+++ b/shop.py", "@@ -2,4 +2,4 @@"],
    ...["     return a + 1", " ", " def fee(a):", "-    return a + 2", "+    return a + 3"],
  ];
  const made = ["--- a/new.py", "+++ b/new.py", "@@ -1,0 +1,1 @@", "+x = 1"];
  expect(context.infos).toEqual([{ diff: shop.join("\n") }, { diff: made.join("\n") }, { tests: "passed" }]);
});

test("a program of the tests that is not there is a fault of the environment, not of the policy", async () => {
  const context = fakeContext(undefined);
  closing.push(() => context.close());
  const { run_tests } = codeTools({ files: () => ({}), tests: { command: "no-such-program" } });
  await expect(run_tests.run({}, context)).rejects.toThrow("command-not-run");
});

test("short tools: lines keep their indentation", async () => {
  const { call, context } = open(shortCodeTools);
  expect(await call("edit", { file: "shop", line: 2, text: "return a + 3" })).toBeUndefined();
  expect(await call("view", { file: "shop" })).toMatch(/^1 def price\(a\):\n2 {5}return a \+ 3\n3 \n/);
  expect(await call("find", { text: "a + 3" })).toBe("shop.py:2:    return a + 3");
  expect(await call("test")).toBe("0");
  await expect(call("edit", { file: "shop", line: 9, text: "x" })).rejects.toThrow(
    new ToolError("shop.py has 5 lines."),
  );
  await expect(call("view", { file: "gone" })).rejects.toThrow(new ToolError("There is no file gone.py."));
  await call("done");
  expect(context.answers).toEqual([undefined]);
});

test("R2E-Gym's reminders", () => {
  const remind = codeReminder(100);
  expect(remind({ turns: 7, tokens: 100 })).toBe("Steps Remaining: 7");
  expect(remind({ turns: 7, tokens: 99 })).toContain("You are running out of tokens. Please submit your answer NOW.");
  expect(() => codeReminder(Number.NaN)).toThrow("bad-option");
});

test("a misspelt option is an error", () => {
  const misspelt = { files: () => ({}), tests: { command: "true" }, stepMS: 1 };
  expect(() => codeTools(misspelt)).toThrow(/did you mean "stepMs"/);
  expect(() => shortCodeTools(misspelt)).toThrow(/did you mean "stepMs"/);
});
