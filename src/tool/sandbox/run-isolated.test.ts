import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, describe, expect, test } from "vitest";
import { eventually, isRunning } from "./fixtures/is-running.ts";
import { type IsolatedLimits, retirement } from "./limits.ts";
import { type IsolatedOptions, type IsolatedRunner, isolated } from "./run-isolated.ts";
import { runProcess } from "./run-process.ts";

const fixture = (name: string) => new URL(`./fixtures/${name}.ts`, import.meta.url);
// long where the call is to finish: only a call that never would is given little time
const limits = { timeoutMs: 5_000, heapMb: 32, outputBytes: 100_000 };
const open: IsolatedRunner[] = [];

function runner(name: string, options: Partial<IsolatedOptions> = {}): IsolatedRunner {
  const made = isolated({
    module: fixture("faults"),
    export: name,
    pool: 1,
    ...options,
    limits: { ...limits, ...options.limits },
  });
  open.push(made);
  return made;
}

afterEach(async () => {
  await Promise.all(open.splice(0).map((made) => made.close()));
});

describe.each(["process", "thread"] as const)("in a %s", (where) => {
  test.each([
    { name: "double", input: 21, result: { kind: "returned", value: 42 } },
    { name: "hang", result: { kind: "timeout", afterMs: 100 }, timeoutMs: 100 },
    { name: "spin", result: { kind: "timeout", afterMs: 100 }, timeoutMs: 100 },
    { name: "exit", input: 3, result: { kind: "exited", code: 3 } },
    { name: "fail", input: "no", result: { kind: "threw", name: "RangeError", message: "no" } },
    { name: "failOddly", result: { kind: "threw", name: "NotAnError", message: '{"reason":"odd"}' } },
    { name: "growHeap", result: { kind: "out-of-memory", limitMb: 32 } },
    { name: "flood", input: 1024, result: { kind: "output-limit", bytes: 100_352 } },
    { name: "returnMuch", result: { kind: "output-limit" } },
    { name: "returnFunction", result: { kind: "threw", message: "() => 1 could not be cloned." } },
    { name: "rejectAfterwards", input: 0, result: { kind: "returned", value: "returned" } },
    { name: "rejectMeanwhile", result: { kind: "threw", name: "Error", message: "meanwhile" } },
    { name: "environment", result: { kind: "returned", value: {} } },
    { name: "nothing", result: { kind: "not-started", message: expect.stringContaining("double") } },
  ])("$name gives $result.kind", async ({ name, input, result, timeoutMs = 5_000 }) => {
    expect(await runner(name, { where }).run(input, { timeoutMs })).toMatchObject(result);
  });

  test("what is printed comes with the result and is not printed here", async () => {
    const run = await runner("print", { where }).run("näh");
    expect(run).toEqual({ kind: "returned", value: 3, output: "näh\nnäh!\n" });
  });

  test("what one call prints is not taken for another's", async () => {
    const printing = runner("print", { where, limits: { outputBytes: 1_000_000, heapMb: 64 } });
    // more than a pipe holds
    const texts = Array.from({ length: 20 }, (_, i) => String(i % 10).repeat(150_000));
    const runs = await Promise.all(texts.map((text) => printing.run(text)));
    const expected = texts.map((text) => ({ digits: [text[0]], length: 2 * text.length + 3 }));
    const seen = runs.map(({ output }) => ({ digits: [...new Set(output.match(/\d/g))], length: output.length }));
    expect(seen).toEqual(expected);
    expect(printing.stats.started).toBe(1);
  });

  test("values that JSON would lose survive", async () => {
    const value = {
      when: new Date(0),
      none: undefined,
      nan: Number.NaN,
      bytes: Uint8Array.of(1, 2),
      map: new Map([[1, 2]]),
    };
    expect(await runner("echoLater", { where }).run({ value, ms: 0 })).toEqual({ kind: "returned", value, output: "" });
  });

  test("a module that fails or hangs while it is imported", async () => {
    const broken = runner("double", { where, module: fixture("broken-module") });
    expect(await broken.run(1)).toMatchObject({ kind: "not-started", name: "SyntaxError" });
    const slow = runner("double", { where, module: fixture("slow-module"), limits: { startMs: 300 } });
    expect(await slow.run(1)).toMatchObject({ kind: "timeout", afterMs: 300 });
  });

  test("a worker is used again, unless calls are to be fresh", async () => {
    for (const [fresh, counts] of [
      [false, [1, 2, 3]],
      [true, [1, 1, 1]],
    ] as const) {
      const counter = runner("countCalls", { where, fresh });
      const runs = [await counter.run(0), await counter.run(0), await counter.run(0)];
      expect(runs.map((run) => run.kind === "returned" && run.value)).toEqual(counts);
      expect(counter.stats.started).toBe(counts.at(-1) === 3 ? 1 : 3);
    }
  });

  test("after a fault the next call gets a new worker", async () => {
    const acting = runner("act", { where });
    expect(await acting.run({ name: "countCalls" })).toMatchObject({ value: 1 });
    expect(await acting.run({ name: "spin" }, { timeoutMs: 100 })).toMatchObject({ kind: "timeout" });
    expect(await acting.run({ name: "countCalls" })).toMatchObject({ value: 1 });
    expect(acting.stats).toEqual({ live: 1, busy: 0, waiting: 0, started: 2 });
  });

  test("an error that a call left behind ends its worker, not the call served by then", async () => {
    const acting = runner("act", { where });
    expect(await acting.run({ name: "rejectAfterwards", input: 30 })).toMatchObject({ kind: "returned" });
    const next = await acting.run({ name: "echoLater", input: { value: "unharmed", ms: 100 } });
    expect(next).toMatchObject({ kind: "returned", value: "unharmed" });
    expect(acting.stats.started).toBe(1);
    expect(await acting.run({ name: "countCalls" })).toMatchObject({ value: 1 });
    expect(acting.stats.started).toBe(2);
  });

  test("a worker that was left with a timer is replaced", async () => {
    const leaving = runner("leaveInterval", { where });
    const runs = [await leaving.run(0), await leaving.run(0)];
    expect(runs.map((run) => run.kind === "returned" && run.value)).toEqual([1, 1]);
  });

  test("a slow leak never reaches the limit", async () => {
    const leaking = runner("leak", { where });
    for (let call = 0; call < 30; call++) expect(await leaking.run(1)).toMatchObject({ kind: "returned" });
    expect(leaking.stats.started).toBeGreaterThan(1);
    expect(leaking.stats.started).toBeLessThan(10);
  });

  test("good calls finish beside a hanging one", async () => {
    const acting = runner("act", { where, pool: 2, limits: { timeoutMs: 20_000 } });
    let isHanging = true;
    const hanging = acting.run({ name: "spin" }).finally(() => {
      isHanging = false;
    });
    const runs = await Promise.all(Array.from({ length: 20 }, (_, input) => acting.run({ name: "double", input })));
    expect(isHanging).toBe(true);
    expect(runs.map((run) => run.kind === "returned" && run.value)).toEqual(
      Array.from({ length: 20 }, (_, i) => i * 2),
    );
    expect(acting.stats).toEqual({ live: 2, busy: 1, waiting: 0, started: 2 });
    await acting.close();
    expect(await hanging).toMatchObject({ kind: "cancelled" });
  });

  test("a signal ends a running call and frees its place", async () => {
    const acting = runner("act", { where, limits: { timeoutMs: 20_000 } });
    await acting.run({ name: "countCalls" });
    const controller = new AbortController();
    const spinning = acting.run({ name: "spin" }, { signal: controller.signal });
    const behind = acting.run({ name: "double", input: 1 });
    expect(acting.stats).toMatchObject({ busy: 1, waiting: 1 });
    controller.abort();
    expect(await spinning).toEqual({ kind: "cancelled", output: "" });
    expect(await behind).toMatchObject({ kind: "returned", value: 2 });
  });
});

test("after fifty faults nothing is left", async () => {
  const before = process.getActiveResourcesInfo().length;
  const [processes, threads] = (["process", "thread"] as const).map((where) =>
    runner("act", { where, pool: 3, limits: { outputBytes: 10_000 } }),
  );
  const faults = ["exit", "flood", "hang", "fail", "exit"];
  const fault = (_: unknown, i: number) => {
    const name = faults[i % faults.length];
    return (i < 15 ? processes : threads).run({ name, input: 3 }, name === "hang" ? { timeoutMs: 100 } : {});
  };
  const runs = await Promise.all(Array.from({ length: 50 }, fault));
  const expected = ["exited", "output-limit", "timeout", "threw", "exited"];
  expect(runs.map(({ kind }) => kind)).toEqual(Array.from({ length: 50 }, (_, i) => expected[i % expected.length]));

  for (const pool of [processes, threads]) {
    // a worker whose function threw is sound and stays
    expect(await eventually(() => pool.stats.live <= 1)).toBe(true);
    expect(await pool.run({ name: "double", input: 2 })).toMatchObject({ value: 4 });
    await pool.close();
    expect(pool.stats).toMatchObject({ live: 0, busy: 0, waiting: 0 });
  }
  expect(process.getActiveResourcesInfo().length).toBeLessThanOrEqual(before);
});

describe("in a process", () => {
  test.each([
    ["one allocation beyond the limit", "leapHeap"],
    ["buffers, which lie outside the heap", "growBuffers"],
  ])("%s", async (_, name) => {
    expect(await runner(name).run(0)).toMatchObject({ kind: "out-of-memory", limitMb: 32 });
  });

  test("processes that the module started end with it", async () => {
    const run = await runner("spawnAndHang").run(0, { timeoutMs: 300 });
    expect(run.kind).toBe("timeout");
    const [, pid] = /child (\d+)/.exec(run.output) ?? [];
    expect(await eventually(() => !isRunning(Number(pid)))).toBe(true);
  });

  test("a worker ends when the program is killed, even if it spins", async () => {
    const program = spawn(process.execPath, [fileURLToPath(fixture("killed-program"))], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [told] = await once(program.stdout, "data");
    const pid = Number(String(told));
    expect(isRunning(pid)).toBe(true);
    program.kill("SIGKILL");
    expect(await eventually(() => !isRunning(pid))).toBe(true);
  });
});

describe("the pool", () => {
  test("calls are served in the order they came", async () => {
    const echo = runner("echoLater", { where: "thread" });
    const finished: number[] = [];
    const calls = [30, 20, 10, 0].map((ms, value) => echo.run({ value, ms }).then(() => finished.push(value)));
    await Promise.all(calls);
    expect(finished).toEqual([0, 1, 2, 3]);
  });

  test("a waiting call can be cancelled, before and after it was made", async () => {
    const acting = runner("act", { where: "thread" });
    const spinning = acting.run({ name: "spin" }, { timeoutMs: 200 });
    const controller = new AbortController();
    const waiting = acting.run({ name: "double", input: 1 }, { signal: controller.signal });
    controller.abort();
    expect(await waiting).toEqual({ kind: "cancelled", output: "" });
    expect(acting.stats).toMatchObject({ busy: 1, waiting: 0 });
    expect(await acting.run({ name: "double" }, { signal: controller.signal })).toMatchObject({ kind: "cancelled" });
    expect(await spinning).toMatchObject({ kind: "timeout" });
  });

  test("a worker is replaced after a number of calls", async () => {
    const counter = runner("countCalls", { where: "thread", limits: { heapMb: 256 } });
    const runs = await Promise.all(Array.from({ length: retirement.afterCalls + 1 }, () => counter.run(0)));
    expect(runs.at(-2)).toMatchObject({ value: retirement.afterCalls });
    expect(runs.at(-1)).toMatchObject({ value: 1 });
  });

  test("closing cancels what runs and what waits", async () => {
    const acting = runner("act", { limits: { timeoutMs: 20_000 } });
    const calls = [acting.run({ name: "spin" }), acting.run({ name: "spin" })];
    await acting.close();
    expect(await Promise.all(calls)).toEqual([
      { kind: "cancelled", output: "" },
      { kind: "cancelled", output: "" },
    ]);
    await expect(acting.run(1)).rejects.toMatchObject({ code: "isolated-closed" });
  });

  test.each(["process", "thread"] as const)(
    "a %s that is idle for long enough is ended, and started again for the next call",
    async (where) => {
      const double = runner("double", { where, pool: 2, idleMs: 40 });
      await Promise.all([double.run(1), double.run(2)]);
      expect(await eventually(() => double.stats.live === 0)).toBe(true);
      expect(await double.run(21)).toMatchObject({ kind: "returned", value: 42 });
      expect(() => runner("double", { idleMs: 0 })).toThrow("invalid-limit");
    },
  );

  test("its level is known", () => {
    expect(runner("double").level).toBe("process");
    expect(runner("double", { where: "thread" }).level).toBe("thread");
  });

  test("idle workers do not keep a program alive", async () => {
    const run = await runProcess({ command: process.execPath, args: [fileURLToPath(fixture("idle-program"))] });
    expect(run).toMatchObject({ kind: "exited", code: 0, stdout: "42\n42\n", stderr: "" });
  });

  test("misuse is an error", async () => {
    expect(() => isolated({ module: "./faults.ts", export: "double" })).toThrow("module-not-found");
    expect(() => isolated({ module: fixture("missing"), export: "double" })).toThrow("module-not-found");
    expect(() => runner("double", { pool: 0 })).toThrow("invalid-pool");
    expect(() => runner("double", { limits: { timeoutMs: Number.POSITIVE_INFINITY } })).toThrow("invalid-limit");
    const misspelt = { heapMB: 5 } as Partial<IsolatedLimits>;
    expect(() => runner("double", { limits: misspelt })).toThrow(/unknown-limit.*Did you mean "heapMb"/);
    await expect(runner("double").run(() => 1)).rejects.toMatchObject({ code: "input-not-serializable" });
  });
});
