import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { maxReadBytes } from "./limits.ts";
import { processSandbox } from "./process-sandbox.ts";
import { runProcess } from "./run-process.ts";
import { sandboxContract } from "./sandbox.contract.ts";

const folder = mkdtempSync(join(tmpdir(), "ludus-process-sandbox-"));
afterAll(() => rmSync(folder, { recursive: true }));

sandboxContract("process", () => processSandbox({ folder }), { leftovers: () => readdirSync(folder) });

test("a folder that cannot be made is an error, and leaves nothing", async () => {
  await expect(processSandbox({ folder: join(folder, "missing") }).open()).rejects.toThrow("ENOENT");
});

test("temporary files of commands are removed with the box", async () => {
  const box = await processSandbox({ folder }).open();
  const { stdout } = await box.exec("sh", { args: ["-c", 'mktemp; test "$HOME" = "$PWD"'] });
  expect(existsSync(stdout.trim())).toBe(true);
  await box.close();
  expect(existsSync(stdout.trim())).toBe(false);
});

test("a file larger than this program should hold is refused", async () => {
  const box = await processSandbox({ folder }).open();
  await box.exec("truncate", { args: ["-s", `${maxReadBytes + 1}`, "big"] });
  await expect(box.read("big")).rejects.toThrow(/box-file-too-large.*head -c/);
  await box.close();
});

test("a program that ends without closing its boxes leaves no folder", async () => {
  const program = fileURLToPath(new URL("./fixtures/open-box-program.ts", import.meta.url));
  const run = await runProcess({ command: process.execPath, args: [program, folder] });
  expect(run).toMatchObject({ kind: "exited", code: 0, stdout: "1\n", stderr: "" });
  expect(readdirSync(folder)).toEqual([]);
});
