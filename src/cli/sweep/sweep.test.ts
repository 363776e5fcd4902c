import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile } from "../testing/trained-run.ts";
import { gridOf, runsOf } from "./sweep-grid.ts";
import { type RunOutcome, sweepResult, sweepText } from "./sweep-result.ts";

const program = fileURLToPath(new URL("../../../bin/ludus.js", import.meta.url));
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-sweep-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A real process: a sweep puts its runs below the working folder, and starts processes of its own. */
function ludus(args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, [program, ...args], { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  const said = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (text: string) => (said[stream] += text));
  }
  return new Promise((resolve) => child.once("close", (status) => resolve({ status, ...said })));
}

test("all combinations are trained with all seeds, once, and compared", async () => {
  const args = [
    "sweep",
    fakeConfigFile,
    "--set",
    "tasksPerStep=2,3",
    "--set",
    "steps=2",
    "--seeds",
    "2",
    "--parallel",
    "2",
  ];
  const first = await ludus([...args, "--json"]);
  expect(first).toMatchObject({ status: 0, stderr: expect.stringContaining("4/4 ") });
  const result = JSON.parse(first.stdout);
  expect(result.settings).toHaveLength(2);
  expect(result.settings[0]).toMatchObject({
    setting: { tasksPerStep: "2", steps: "2" },
    success: { mean: expect.any(Number), low: expect.any(Number), high: expect.any(Number) },
    runs: [
      { seed: 0, state: "done", run: join("runs", "fake-config-sweep", "tasksPerStep=2,steps=2", "seed-0") },
      { seed: 1, state: "done" },
    ],
  });
  expect(readdirSync(join(folder, "runs", "fake-config-sweep")).sort()).toEqual([
    "results.json",
    "sweep.json",
    "tasksPerStep=2,steps=2",
    "tasksPerStep=3,steps=2",
  ]);
  const events = join(folder, result.settings[0].runs[0].run, "events.jsonl");
  const before = readFileSync(events, "utf8");
  const again = await ludus(args);
  expect(again).toMatchObject({ status: 0 });
  expect(again.stdout).toMatch(/setting +held-out success \(95 %\) +seeds +state\n/);
  expect(again.stdout).toMatch(/tasksPerStep=2, steps=2 +0\.\d\d \[0\.\d\d, [01]\.\d\d\] +2\/2 +done\n/);
  expect(again.stdout).toMatch(/^Best: tasksPerStep=\d, steps=2$/m);
  expect(readFileSync(events, "utf8")).toBe(before);
  const list = await ludus(["runs", "--json"]);
  expect(JSON.parse(list.stdout)).toHaveLength(4);
}, 120_000);

test("a run that fails is shown with its text, and the others go on", async () => {
  const file = join(folder, "failing.ts");
  writeFileSync(
    file,
    `import { config as make } from ${JSON.stringify(fakeConfigFile)};
     export const config = () => {
       const config = make();
       const policy = (env, seed) => {
         if (seed === 1) throw new Error("no policy today");
         return config.policy(env, seed);
       };
       return { ...config, policy };
     };`,
  );
  const { status, stdout } = await ludus(["sweep", file, "--set", "steps=1", "--seeds", "2"]);
  expect(status).toBe(1);
  expect(stdout).toMatch(/steps=1 +[01]\.\d\d +1\/2 +seed 1 failed\n/);
  expect(stdout).toMatch(/failed runs.failing-sweep.steps=1.seed-1: .*no policy today/);
  expect(stdout).toMatch(/Caution: one seed says nothing about chance.*1 of its runs have no result/);
}, 120_000);

test("Ctrl-C stops all runs, and the same command goes on where they were", async () => {
  const sweep = join(folder, "runs", "stopped");
  const args = ["sweep", fakeConfigFile, "--name", "stopped", "--set", "steps=4000", "--seeds", "2", "--parallel", "2"];
  const stopWhen = async (pattern: RegExp) => {
    let pid: number | undefined;
    const timer = setInterval(() => {
      const files = [0, 1].map((seed) => join(sweep, "steps=4000", `seed-${seed}`, "events.jsonl"));
      if (!files.every((file) => existsSync(file) && pattern.test(readFileSync(file, "utf8")))) return;
      clearInterval(timer);
      process.kill(pid!, "SIGINT");
    }, 50);
    const child = spawn(process.execPath, [program, ...args], { cwd: folder, stdio: ["ignore", "pipe", "ignore"] });
    pid = child.pid;
    let stdout = "";
    child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
    const status = await new Promise((resolve) => child.once("close", resolve));
    expect({ status, stdout }).toMatchObject({
      status: 130,
      stdout: expect.stringMatching(/seed 0 stopped, seed 1 stopped/),
    });
    const runs: { status: string; steps: number }[] = JSON.parse((await ludus(["runs", sweep, "--json"])).stdout);
    // each has saved its last step and closed its store
    expect(runs.map((run) => run.status)).toEqual(["stopped", "stopped"]);
    return Math.min(...runs.map(({ steps }) => steps));
  };
  const first = await stopWhen(/step-end/);
  const second = await stopWhen(/"resumedAtStep":\d+[\s\S]*step-end/);
  expect(first).toBeGreaterThan(0);
  expect(second).toBeGreaterThan(first);
}, 120_000);

describe("what cannot work is refused before the first run", () => {
  test.each([
    [["--set", "stesp=3,4"], 2, /^unknown-field: .*Did you mean "steps"\?/],
    [["--set", "steps=3,,4"], 2, /^bad-set: got --set steps=3,,4, expected path=value,value/],
    [["--set", "steps=3,3"], 2, /^bad-set: .*with 3 twice/],
    [["--set", "steps=3", "--set", "steps=4"], 2, /^bad-set: .*twice.*All values in one/],
    [["--set", "seed=1,2"], 2, /^bad-set: .*--seeds <n>/],
    [["--seeds", "0"], 2, /^bad-option: got --seeds 0/],
    [["--parallel", "9999"], 2, /^bad-option: got --parallel 9999, expected 1 to \d+/],
    [["--set", "eval.tasks=0"], 1, /^bad-config: .*held-out tasks.*--set eval.tasks=200/],
  ])("sweep %j", async (args, status, message) => {
    const result = await runCommand(["sweep", fakeConfigFile, ...args]);
    expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(message) });
  });
});

test("the grid has every combination; lists keep their commas", () => {
  expect(gridOf(["a=1,2", 'learners=["x","y"],["z"]'])).toEqual([
    { a: "1", learners: '["x","y"]' },
    { a: "1", learners: '["z"]' },
    { a: "2", learners: '["x","y"]' },
    { a: "2", learners: '["z"]' },
  ]);
  const runs = runsOf(gridOf(["a=1,2"]), { first: 5, count: 2 }, "runs/x");
  expect(runs.map(({ run }) => run)).toEqual(
    ["a=1/seed-5", "a=2/seed-5", "a=1/seed-6", "a=2/seed-6"].map((id) => `runs/x/${id}`),
  );
});

describe("the result", () => {
  const outcomes = (setting: string, successes: readonly number[]): RunOutcome[] =>
    successes.map((success, seed) => ({
      setting: { a: setting },
      seed,
      run: `runs/x/a=${setting}/seed-${seed}`,
      state: "done",
      success,
    }));
  const screen = { write: () => true };

  test("names the best, and says when intervals overlap", () => {
    const close = sweepResult("runs/x", [...outcomes("1", [0.5, 0.6, 0.7]), ...outcomes("2", [0.55, 0.65, 0.75])]);
    expect(close).toMatchObject({ best: { a: "2" }, caution: expect.stringContaining("overlaps with that of a=1") });
    expect(sweepText(close, screen)).toContain(
      "Caution: its interval overlaps with that of a=1: these seeds do not tell them apart.",
    );
    const clear = sweepResult("runs/x", [...outcomes("1", [0.1, 0.11, 0.12]), ...outcomes("2", [0.9, 0.91, 0.92])]);
    expect(clear.best).toEqual({ a: "2" });
    expect(clear.caution).toBeUndefined();
  });

  test("is within 0 and 1, and has no interval for one seed", () => {
    const [setting] = sweepResult("runs/x", outcomes("1", [0.9, 1, 1])).settings;
    expect(setting.success!.high).toBe(1);
    expect(sweepResult("runs/x", outcomes("1", [0.9])).settings[0].success).toEqual({ mean: 0.9 });
  });
});
