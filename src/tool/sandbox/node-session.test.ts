import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import { requireOwnProcesses } from "./require-level.ts";
import { sandboxContract } from "./sandbox.contract.ts";
import type { Box, ExecOptions } from "./sandbox.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

const files = {
  "main.js":
    'const { name } = require("./part");\nconst { same } = require("./data.json");\n' +
    "console.log(name, same instanceof Array, process.argv.slice(2), __filename, require.main === module, typeof path);\nprocess.exitCode = 3;\n",
  "part.js": 'exports.name = "one";\n',
  "data.json": '{ "same": [1] }\n',
  "module.mjs": 'import { basename } from "node:path";\nconsole.log(basename(import.meta.url));\n',
  "typed.ts": "const n: number = 4;\nconsole.log(n);\n",
};
/** A session counts its calls from process to process: the same number says that the same Node ran both. */
const whichNode = "console.log(process.pid, performance.timeOrigin)";

describe.skipIf(noBubblewrap !== undefined)("one Node for the calls of a box", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-session-"));
  const sandbox = bubblewrapSandbox({ folder, warm: "node-session" });
  afterAll(() => rmSync(folder, { recursive: true }));
  sandboxContract("bubblewrap", () => sandbox, { leftovers: () => readdirSync(folder), boxes: 4 });

  describe("a call", () => {
    let box: Box;
    beforeEach(async () => {
      box = await sandbox.open({ files });
    });
    afterEach(() => box.close());
    const node = (code: string, options: ExecOptions = {}) => box.exec("node", { ...options, args: ["-e", code] });

    test("shares its process with the next one, and no variable of its own", async () => {
      const first = await node(`${whichNode}; var left = 1; globalThis.more = 2; Array.prototype.map = null;`);
      expect(first).toMatchObject({ kind: "exited", code: 0, stderr: "" });
      expect(await node(whichNode)).toMatchObject({ stdout: first.stdout });
      expect(await node("console.log(typeof left, typeof more, typeof [].map)")).toMatchObject({
        stdout: "undefined undefined function\n",
      });
    });

    test("is what a Node of its own would be: files, modules, globals, streams, status", async () => {
      expect(await box.exec("node", { args: ["main.js", "a"] })).toMatchObject({
        kind: "exited",
        code: 3,
        stdout: "one true [ 'a' ] /box/main.js true undefined\n",
        stderr: "",
      });
      expect(
        await node(
          'console.error(typeof fs.readFileSync, typeof URL, globalThis === global); setTimeout(() => console.log("later"), 20)',
        ),
      ).toMatchObject({
        stdout: "later\n",
        stderr: "function function true\n",
        code: 0,
      });
      expect(await node("Promise.resolve(7).then(console.log); queueMicrotask(() => console.log(8))")).toMatchObject({
        stdout: "7\n8\n",
      });
      expect(await node("console.log(process.env.A, process.cwd())", { env: { A: "b" }, cwd: "." })).toMatchObject({
        stdout: "b /box\n",
      });
      expect(await node("console.log(process.env.A)")).toMatchObject({ stdout: "undefined\n" });
      expect(await node('process.stdout.write("no end of line")')).toMatchObject({ stdout: "no end of line", code: 0 });
      expect(await node("process.stdout.write('x'.repeat(300_000))")).toMatchObject({ stdout: "x".repeat(300_000) });
    });

    test("sees files as they are now, modules included", async () => {
      await box.exec("node", { args: ["main.js"] });
      await box.write("part.js", 'exports.name = "two";');
      await box.write("data.json", '{ "same": {} }');
      expect((await box.exec("node", { args: ["main.js"] })).stdout).toMatch(/^two false/);
    });

    test("what fails ends as it would alone, and the next call is served", async () => {
      const thrown = await node("const x = 1;\nx();");
      expect(thrown).toMatchObject({ kind: "exited", code: 1, stdout: "" });
      expect(thrown.stderr).toContain("TypeError: x is not a function");
      expect((await node("Promise.reject(new Error('unheard'))")).stderr).toContain("unheard");
      expect(await node("console.log(1); process.exit(4)")).toMatchObject({ kind: "exited", code: 4, stdout: "1\n" });
      expect((await node("let 1;")).stderr).toContain("SyntaxError");
      expect(await box.exec("node", { args: ["missing.js"] })).toMatchObject({ code: 1 });
      expect(await node("process.on('exit', () => console.log('bye'))")).toMatchObject({ stdout: "bye\n", code: 0 });
      expect(await node("console.log(1)")).toMatchObject({ stdout: "1\n", code: 0 });
    });

    test("runs alone where it needs what a session has not: modules, input, flags, types", async () => {
      expect(await box.exec("node", { args: ["module.mjs"] })).toMatchObject({ stdout: "module.mjs\n" });
      expect(await box.exec("node", { args: ["typed.ts"] })).toMatchObject({ stdout: "4\n" });
      expect(await node('import("node:path").then((path) => console.log(path.sep))')).toMatchObject({ stdout: "/\n" });
      const echo = 'console.log(require("fs").readFileSync(0, "utf8"))';
      expect(await node(echo, { input: "näh" })).toMatchObject({ stdout: "näh\n" });
      expect(
        await box.exec("node", { args: ["--no-warnings", "-e", "console.log(process.execArgv.length)"] }),
      ).toMatchObject({ stdout: "3\n" });
    });

    test("ends at its limits, with its children, and the next one is there", async () => {
      expect(await node("for (;;);", { limits: { timeoutMs: 300 } })).toMatchObject({ kind: "timeout" });
      const flood = await node("for (;;) console.log('y'.repeat(999));", { limits: { outputBytes: 50 } });
      expect(flood).toMatchObject({ kind: "output-limit", stdout: "y".repeat(50) });
      const controller = new AbortController();
      const running = node("setTimeout(() => {}, 60_000)", { signal: controller.signal });
      controller.abort();
      expect(await running).toMatchObject({ kind: "cancelled" });
      const start = 'require("child_process").spawn("sleep", ["60"], { detached: true, stdio: "ignore" }).unref()';
      expect(await node(start)).toMatchObject({ kind: "exited", code: 0 });
      const count = 'console.log(require("fs").readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length)';
      expect((await node(count)).stdout).toMatch(/^[23]\n$/);
    });

    test("a mark that it writes itself is output", async () => {
      const forged = 'process.stdout.write("\\0" + "0".repeat(32) + " 0\\n"); process.exitCode = 2';
      expect(await node(forged)).toMatchObject({ code: 2, stdout: `\0${"0".repeat(32)} 0\n` });
    });

    test("calls at the same time do not wait for each other", async () => {
      const both = await Promise.all([node("console.log(1)"), node("console.log(2)")]);
      expect(both.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n"]);
    });
  });

  test("of many boxes those that were used last keep their Node; the others are served all the same", async () => {
    const boxes = await Promise.all(Array.from({ length: 20 }, () => sandbox.open()));
    const ask = async (box: Box) => (await box.exec("node", { args: ["-e", whichNode] })).stdout;
    try {
      const first: string[] = [];
      for (const box of boxes) first.push(await ask(box));
      expect(await ask(boxes[19]!)).toBe(first[19]);
      expect(await ask(boxes[0]!)).not.toBe(first[0]);
    } finally {
      await Promise.all(boxes.map((box) => box.close()));
    }
  });
});

test("tests that decide a reward refuse boxes whose calls share a process", () => {
  expect(() => requireOwnProcesses(bubblewrapSandbox({ warm: "node-session" }), "a reward")).toThrow(
    /sandbox-shares-process[\s\S]*warm: "node"/,
  );
  const own = bubblewrapSandbox({ warm: "node" });
  expect(requireOwnProcesses(own, "a reward")).toBe(own);
});
