import { mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test, vi } from "vitest";
import { findCommand } from "./find-command.ts";
import { eventually, isRunning } from "./fixtures/is-running.ts";
import type { CommandLimits } from "./limits.ts";
import { runProcess } from "./run-process.ts";

const sh = (script: string, limits: Partial<CommandLimits> = {}, signal?: AbortSignal) =>
  runProcess({ command: "sh", args: ["-c", script], limits }, signal);
const hasPrlimit = (await findCommand("prlimit", process.env.PATH ?? "", "/")) !== undefined;

afterEach(() => vi.unstubAllEnvs());

test("what it read, wrote and exited with", async () => {
  const args = ["-c", "cat; echo oh >&2; exit 3"];
  expect(await runProcess({ command: "sh", args, input: "näh\n" })).toEqual({
    kind: "exited",
    code: 3,
    stdout: "näh\n",
    stderr: "oh\n",
    notApplied: [],
  });
});

test("it sees the environment and folder it was given, and nothing else", async () => {
  vi.stubEnv("LUDUS_SECRET", "secret");
  const run = await runProcess({ command: "/usr/bin/env", env: { ONLY: "this" } });
  expect(run.stdout).toBe("ONLY=this\n");
  expect((await sh("env")).stdout).not.toContain("secret");
  expect((await runProcess({ command: "pwd", cwd: "/usr" })).stdout).toBe("/usr\n");
});

test("arguments are not read by a shell", async () => {
  const run = await runProcess({ command: "echo", args: ["$(id)", ";", "*"] });
  expect(run.stdout).toBe("$(id) ; *\n");
});

test("a signal that ended it", async () => {
  expect(await sh("kill -TERM $$")).toMatchObject({ kind: "exited", code: 143, signal: "SIGTERM" });
});

test("the wall limit ends it and all that it started", async () => {
  const run = await sh("sleep 30 & echo $!; wait", { timeoutMs: 300 });
  expect(run).toMatchObject({ kind: "timeout", afterMs: 300 });
  expect(await eventually(() => !isRunning(Number(run.stdout)))).toBe(true);
});

test("what it left in the background ends with it", async () => {
  const run = await sh("sleep 30 & echo $!");
  expect(run).toMatchObject({ kind: "exited", code: 0 });
  expect(await eventually(() => !isRunning(Number(run.stdout)))).toBe(true);
});

test("a descendant that left the group and holds the pipes is not waited for", async () => {
  const start = performance.now();
  expect(await sh("setsid sleep 4 & echo done")).toMatchObject({ kind: "exited", stdout: "done\n" });
  expect(performance.now() - start).toBeLessThan(3_500);
});

test("a flood is cut at the limit", async () => {
  const run = await sh("yes", { outputBytes: 5_000 });
  expect(run).toMatchObject({ kind: "output-limit", stdout: "y\n".repeat(2_500) });
  expect(await sh("yes >&2", { outputBytes: 10 })).toMatchObject({ kind: "output-limit", stderr: "y\n".repeat(5) });
});

test("input that nobody reads does no harm", async () => {
  const run = await runProcess({ command: "true", input: "x".repeat(1_000_000) });
  expect(run).toMatchObject({ kind: "exited", code: 0 });
});

test("cancelled, before and while it runs", async () => {
  const controller = new AbortController();
  const running = sh("sleep 30", {}, controller.signal);
  setTimeout(() => controller.abort(), 50);
  expect(await running).toMatchObject({ kind: "cancelled" });
  expect(await sh("true", {}, controller.signal)).toMatchObject({ kind: "cancelled" });
});

test("a command that cannot be started", async () => {
  expect(await runProcess({ command: "no-such-command" })).toMatchObject({ kind: "not-started", name: "ENOENT" });
  expect(await runProcess({ command: "sh", args: ["\0"] })).toMatchObject({ kind: "not-started" });
  expect(await runProcess({ command: "sh", cwd: "/no-such-folder" })).toMatchObject({ kind: "not-started" });
});

test("nothing is left", async () => {
  const before = process.getActiveResourcesInfo().length;
  await Promise.all(Array.from({ length: 10 }, (_, i) => sh(i % 2 === 0 ? "sleep 30" : "exit 1", { timeoutMs: 100 })));
  expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before);
});

test.runIf(process.platform === "linux")("the memory of a command and its children together", async () => {
  const fill = "a=$(head -c 60000000 /dev/zero | tr '\\0' x); sleep 30";
  const run = await sh(`sh -c "${fill.replaceAll("$", "\\$")}" & wait`, { memoryMb: 40 });
  expect(run).toMatchObject({ kind: "out-of-memory", limitMb: 40 });
});

describe.runIf(hasPrlimit)("with prlimit", () => {
  test("processor time", async () => {
    const run = await sh("while :; do :; done", { cpuSeconds: 1 });
    expect(run).toMatchObject({ kind: "exited", signal: "SIGKILL", notApplied: [] });
  });

  test("the size of a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "ludus-process-"));
    const file = join(folder, "big");
    const run = await sh(`head -c 5000000 /dev/zero > ${file}`, { fileMb: 1 });
    expect(run).not.toMatchObject({ kind: "exited", code: 0 });
    expect(statSync(file).size).toBe(2 ** 20);
    rmSync(folder, { recursive: true });
  });

  test("the address space, in every descendant", async () => {
    expect((await sh("sh -c 'ulimit -v'", { addressSpaceMb: 512 })).stdout).toBe(`${512 * 1024}\n`);
  });

  test("the number of processes, which root has to be told does not hold", async () => {
    const { notApplied } = await sh("true", { processes: 100_000 });
    const isRoot = process.getuid?.() === 0;
    expect(notApplied).toEqual(isRoot ? [{ limit: "processes", reason: "does not bind root" }] : []);
  });
});

test("a limit that cannot be set is reported", async () => {
  vi.stubEnv("PATH", "");
  expect(await sh("true", { cpuSeconds: 1 })).toMatchObject({
    kind: "exited",
    notApplied: [{ limit: "cpuSeconds", reason: "prlimit was not found" }],
  });
});
