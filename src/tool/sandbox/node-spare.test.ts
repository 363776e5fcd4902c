import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import { sandboxContract } from "./sandbox.contract.ts";
import type { Box, ExecOptions } from "./sandbox.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

const files = {
  "main.js":
    'const { readFileSync } = require("node:fs");\n' +
    'console.log(process.argv.slice(2), __filename, require.main === module, typeof path, readFileSync(0, "utf8"));\nprocess.exit(3);\n',
  "module.mjs":
    'import { basename } from "node:path";\nconsole.log(basename(import.meta.url), typeof require, typeof fs);\n',
  "typed.ts": "const n: number = 4;\nconsole.log(n);\n",
};

describe.skipIf(noBubblewrap !== undefined)("a Node that was started ahead", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-spare-"));
  const sandbox = bubblewrapSandbox({ folder, warm: "node" });
  afterAll(() => rmSync(folder, { recursive: true }));
  sandboxContract("bubblewrap", () => sandbox, { leftovers: () => readdirSync(folder), boxes: 4 });

  describe("a call", () => {
    let box: Box;
    beforeEach(async () => {
      box = await sandbox.open({ files });
      await node("0"); // from the first call on, one waits
      await setTimeout(50);
    });
    afterEach(() => box.close());
    const node = (code: string, options: ExecOptions = {}) => box.exec("node", { ...options, args: ["-e", code] });
    /** What waited was started with another program than the one it runs. */
    const isSpare =
      'console.log(require("fs").readFileSync("/proc/self/cmdline", "utf8").includes("readFileSync" + "(3") && process.argv.length)';

    test("runs programs as a Node of their own would", async () => {
      expect(await node(isSpare)).toMatchObject({ kind: "exited", code: 0, stdout: "1\n", stderr: "" });
      const ended = await box.exec("node", { args: ["main.js", "a"], input: "näh\n" });
      expect(ended).toMatchObject({
        kind: "exited",
        code: 3,
        stdout: "[ 'a' ] /box/main.js true undefined näh\n\n",
        stderr: "",
      });
      expect(await box.exec("node", { args: ["module.mjs"] })).toMatchObject({
        stdout: "module.mjs undefined undefined\n",
      });
      expect(await box.exec("node", { args: ["typed.ts"] })).toMatchObject({ stdout: "4\n", code: 0 });
      const failed = await node("const x = 1;\nx();");
      expect(failed).toMatchObject({ kind: "exited", code: 1, stdout: "" });
      expect(failed.stderr).toContain("TypeError: x is not a function");
      expect(await node("console.log(process.env, process.cwd())", { env: { A: "b" }, cwd: "." })).toMatchObject({
        stdout: expect.stringMatching(/A: 'b'\n} \/box\n$/),
      });
      expect(await box.exec("node", { args: ["missing.js"] })).toMatchObject({ code: 1 });
    });

    test("ends at its limits, and the next one is there", async () => {
      expect(await node("for (;;);", { limits: { timeoutMs: 300 } })).toMatchObject({ kind: "timeout" });
      const flood = await node("for (;;) console.log('y'.repeat(999));", { limits: { outputBytes: 50 } });
      expect(flood).toMatchObject({ kind: "output-limit", stdout: "y".repeat(50) });
      const controller = new AbortController();
      const running = node("setTimeout(() => {}, 60_000)", { signal: controller.signal });
      controller.abort();
      expect(await running).toMatchObject({ kind: "cancelled" });
      expect(await node(isSpare)).toMatchObject({ stdout: "1\n" });
    });

    test("nothing of a call is there in the next", async () => {
      await node(
        'globalThis.left = 1; Array.prototype.map = null; require("child_process").spawn("sleep", ["60"], { detached: true, stdio: "ignore" }).unref()',
      );
      const after =
        'console.log(typeof left, typeof [].map, require("fs").readdirSync("/proc").filter((name) => /^\\d+$/.test(name)).length)';
      expect((await node(after)).stdout).toMatch(/^undefined function [23]\n$/);
    });

    test("a call of another kind starts a Node of its own: flags, variables of Node, other limits", async () => {
      const calls: ExecOptions[] = [
        { args: ["--no-warnings", "-e", isSpare] },
        { args: ["-e", isSpare], env: { NODE_OPTIONS: "--no-warnings" } },
        { args: ["-e", isSpare], limits: { processes: 40 } },
      ];
      for (const options of calls) {
        expect(await box.exec("node", options)).toMatchObject({ kind: "exited", code: 0, stdout: "false\n" });
      }
    });

    test("calls at the same time do not wait for each other", async () => {
      const both = await Promise.all([node("console.log(1)"), node("console.log(2)")]);
      expect(both.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n"]);
    });
  });
});
