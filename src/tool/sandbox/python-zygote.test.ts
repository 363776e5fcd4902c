import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { bubblewrapSandbox } from "./bubblewrap-sandbox.ts";
import { sandboxContract } from "./sandbox.contract.ts";
import type { Box, ExecOptions } from "./sandbox.ts";
import { noBubblewrap } from "./testing/bubblewrap-here.ts";

describe.skipIf(noBubblewrap !== undefined)("a warm Python", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-warm-"));
  const sandbox = bubblewrapSandbox({ folder, warm: "python" });
  afterAll(() => rmSync(folder, { recursive: true }));
  sandboxContract("bubblewrap", () => sandbox, { leftovers: () => readdirSync(folder), boxes: 10 });

  describe("a call", () => {
    let box: Box;
    beforeEach(async () => {
      box = await sandbox.open({
        files: { "main.py": "import sys\nprint(sys.argv, __name__, input())\nsys.exit(3)\n" },
      });
    });
    afterEach(() => box.close());
    const python = (code: string, options: ExecOptions = {}) => box.exec("python3", { ...options, args: ["-c", code] });
    /** Forked by the interpreter that waits, and not started anew. */
    const isForked = "import os; print(os.getppid() == 1 and 'prlimit' not in open('/proc/1/cmdline').read())";

    test("runs programs as an interpreter of their own would", async () => {
      expect(await python(isForked)).toMatchObject({ kind: "exited", code: 0, stdout: "True\n" });
      const ended = await box.exec("python3", { args: ["main.py", "a"], input: "näh\n" });
      expect(ended).toMatchObject({ kind: "exited", code: 3, stdout: "['main.py', 'a'] __main__ näh\n", stderr: "" });
      const failed = await python("x = 1\nx / 0");
      expect(failed).toMatchObject({ kind: "exited", code: 1, stdout: "" });
      expect(failed.stderr).toMatch(/^Traceback.*\n {2}File "<string>", line 2, in <module>\n(.*\n)?ZeroDivisionError/);
      expect(await python("import os; print(os.environ['A'], os.getcwd())", { env: { A: "b" } })).toMatchObject({
        stdout: "b /box\n",
      });
      expect(await python("import os, signal; os.kill(os.getpid(), signal.SIGTERM)")).toMatchObject({ code: 143 });
    });

    test("ends at its limits and goes on", async () => {
      expect(await python("while True: pass", { limits: { timeoutMs: 200 } })).toMatchObject({ kind: "timeout" });
      const flood = await python("while True: print('y' * 999)", { limits: { outputBytes: 50 } });
      expect(flood).toMatchObject({ kind: "output-limit", stdout: "y".repeat(50) });
      const controller = new AbortController();
      const running = python("import time; time.sleep(60)", { signal: controller.signal });
      controller.abort();
      expect(await running).toMatchObject({ kind: "cancelled" });
      expect(await python(isForked)).toMatchObject({ stdout: "True\n" });
    });

    test("takes what a call left with it, and cannot be reached from it", async () => {
      await python("import os, time\nif os.fork() == 0:\n  os.setsid()\n  time.sleep(60)");
      expect((await python("import os; print(sum(p.isdigit() for p in os.listdir('/proc')))")).stdout).toBe("2\n");
      const code = `import os
for path in ('/proc/1/mem', '/proc/1/environ', '/proc/1/fd/0'):
  try: print(open(path, 'rb').read(10))
  except OSError as error: print(error.errno)
for signal in (9, 19): os.kill(1, signal)
print(sorted(map(int, os.listdir('/proc/self/fd')))[-1])`;
      expect((await python(code)).stdout).toBe("13\n13\n13\n3\n");
      expect(await python(isForked)).toMatchObject({ stdout: "True\n" });
    });

    test("is started again where memory ran out", async () => {
      const small = bubblewrapSandbox({ folder, warm: "python", limits: { memoryMb: 100 } });
      const other = await small.open();
      const ended = await other.exec("python3", {
        args: ["-c", "a = bytearray(400 << 20); import time; time.sleep(2)"],
      });
      expect(ended).toMatchObject({ kind: "out-of-memory", limitMb: 100 });
      expect(await other.exec("python3", { args: ["-c", "print(1)"] })).toMatchObject({ stdout: "1\n" });
      await other.close();
    });

    test("calls beside each other, and with settings of the interpreter, start their own", async () => {
      const both = await Promise.all([python("print(1)"), python("print(2)")]);
      expect(both.map(({ stdout }) => stdout)).toEqual(["1\n", "2\n"]);
      const seeded = () => python("print(hash('tea'))", { env: { PYTHONHASHSEED: "7" } });
      expect((await seeded()).stdout).toBe((await seeded()).stdout);
    });
  });
});
