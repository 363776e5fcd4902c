import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { memoryRuns } from "../../store/index.ts";
import { chooseRunDirectory } from "../run-directory.ts";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, tinyConfigFile } from "../testing/trained-run.ts";

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-train-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url));
const source = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const file = (name: string, text: string) => {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
};

test("trains as the file says, shows progress and prints what changed", async () => {
  const run = join(folder, "first");
  const { status, stdout, stderr } = await runCommand(["train", fakeConfigFile, "--run", run, "--set", "steps=2"]);
  expect(status).toBe(0);
  expect(stderr).toContain("phase grpo, 2 steps\n");
  expect(stderr).toContain("grpo 2/2  reward");
  expect(stdout).toMatch(
    /12 tasks of test {2,}before {2,}after\nsuccess \(95 %\) {2,}0\.\d\d \[0\.\d\d, 0\.\d\d\] {2,}0\.\d\d/,
  );
  expect(stdout).toMatch(/stop: completed +12 +12\n/);
  expect(stdout).toMatch(/finished after 2 steps, [\d.]+ s; kept in .*first\n.*ludus replay /);
  expect(stdout).not.toContain("\u001b");
  expect(existsSync(join(run, "run.sqlite"))).toBe(true);
});

test("an environment that always fails ends the run with its text and status 1, and everything says so afterwards", async () => {
  const [run, events] = [join(folder, "down"), join(folder, "down.jsonl")];
  const args = ["train", fixture("down-config.ts"), "--run", run, "--events", events];
  const { status, stdout, stderr } = await runCommand(args);
  expect(status).toBe(1);
  expect(stdout).toBe("");
  expect(stderr).toMatch(/^failed: env-crash in step-0\/\d\/\d: Error: database is down \(request \d+\)\n {2}at /m);
  expect(stderr).toMatch(
    /\nended: failed\neverything-crashed: got step 0, in which all 32 attempts failed: 32 × env-crash/,
  );
  const told = readFileSync(events, "utf8")
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  expect(told.filter(({ type }) => type === "failure")).toMatchObject([{ count: 32, attempts: 32, stop: "env-crash" }]);
  expect((await runCommand(["runs", folder])).stdout).toMatch(/down.*failed/);
});

test("an evaluation whose attempts all fail is an error with the text", async () => {
  const { status, stdout, stderr } = await runCommand(["eval", fixture("down-config.ts"), "--tasks", "3", "--quiet"]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: "" });
  expect(stderr).toMatch(/^everything-crashed: .*6 × env-crash: Error: database is down/);
});

test("--json prints the result alone, --events keeps what happened", async () => {
  const [run, events] = [join(folder, "json"), join(folder, "events.jsonl")];
  const args = ["train", fakeConfigFile, "--run", run, "--json", "--quiet", "--events", events, "--set", "seed=4"];
  const { status, stdout, stderr } = await runCommand(args);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(JSON.parse(stdout)).toMatchObject({
    run,
    reason: "finished",
    steps: 3,
    before: { tasks: 12 },
    after: { success: { mean: expect.any(Number), low: expect.any(Number), high: expect.any(Number) } },
  });
  const types = readFileSync(events, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).type);
  expect(types.filter((type) => type === "step-end")).toHaveLength(3);
  expect(types.at(-1)).toBe("run-end");
});

test("a run that is there is gone on with only when asked", async () => {
  const run = join(folder, "again");
  const train = (...args: string[]) => runCommand(["train", fakeConfigFile, "--run", run, ...args]);
  expect(await train("--resume")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^nothing-to-resume: .*Leave out --resume/),
  });
  expect((await train()).status).toBe(0);
  expect(await train()).toMatchObject({ status: 1, stderr: expect.stringMatching(/^run-exists: .*--resume.*--run/) });
  const more = await train("--resume", "--set", "steps=5");
  expect(more.stderr).toContain("after step 2\n");
  expect(more.stdout).toContain("finished after 5 steps");
  const nothing = await train("--resume", "--set", "steps=5");
  expect(nothing.stderr).toContain("All 5 steps are done already. More of them: --set steps=10.");
  // the file's own number of steps is smaller than what is done
  const fewer = await train("--resume");
  expect(fewer.stderr).toContain("All 5 steps are done already. More of them: --set steps=10.");
  expect(await train("--resume", "--set", "seed=9")).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/^other-run: .*seed 0/),
  });
});

test("Ctrl-C saves the last whole step, and the run goes on from there", async () => {
  const run = join(folder, "stopped");
  const args = ["train", fakeConfigFile, "--run", run, "--set", "steps=500", "--set", "save.every=400"];
  const stopped = await runCommand(args, {
    onProgress: (text, interrupt) => text.startsWith("grpo 1/500") && interrupt("SIGINT"),
  });
  expect(stopped.status).toBe(130);
  expect(stopped.exits).toEqual([]);
  const steps = Number(/stopped after (\d+) steps?/.exec(stopped.stdout)?.[1]);
  expect(steps).toBeGreaterThanOrEqual(1);
  expect(steps).toBeLessThan(20);
  expect(stopped.stdout).toContain(`--run ${run} --resume`);
  const resumed = await runCommand([...args, "--set", `steps=${steps + 1}`, "--resume"]);
  expect(resumed.stderr).toContain(`after step ${steps - 1}\n`);
  expect(resumed).toMatchObject({ status: 0, stdout: expect.stringContaining(`finished after ${steps + 1} steps`) });
});

test("on a terminal progress is drawn again, and there are colours", async () => {
  const args = ["train", fakeConfigFile, "--run", join(folder, "terminal")];
  const { stdout, stderr } = await runCommand(args, { isTTY: true });
  expect(stderr).toContain("\u001b[J");
  expect(stdout).toContain("\u001b[1m");
});

test("a console of the file's own does not speak where only the result belongs", async () => {
  const config = file(
    "own-console.ts",
    `
    import { config as make } from ${JSON.stringify(fakeConfigFile)};
    export const config = () => ({ ...make(), monitors: [{ name: "console", record() { throw new Error("spoke"); } }] });
  `,
  );
  const { status, stdout } = await runCommand(["train", config, "--json", "--run", join(folder, "own-console")]);
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({ reason: "finished" });
});

test("a run that the file itself stops is no success", async () => {
  const config = file(
    "stops.ts",
    `
    import { config as make } from ${JSON.stringify(fakeConfigFile)};
    export const config = () => ({ ...make(), signal: AbortSignal.abort() });
  `,
  );
  const { status, stdout } = await runCommand(["train", config, "--run", join(folder, "stops"), "--quiet"]);
  expect(status).toBe(1);
  expect(stdout).toContain("stopped after 0 steps");
});

test("an agent of agentEnv is trained and measured as an environment is", async () => {
  const config = file(
    "agent-config.ts",
    `
    import { fromScratch, generated, grpo } from ${JSON.stringify(source("index.ts"))};
    import { agentEnv } from ${JSON.stringify(source("server/index.ts"))};
    const env = agentEnv({
      name: "helper",
      tasks: generated(() => ({ question: "1 + 1?" })),
      limits: { turns: 1, turnTokens: 4 },
      async run({ question }, { url }) {
        const body = JSON.stringify({ model: "helper", messages: [{ role: "user", content: question }] });
        const headers = { "content-type": "application/json" };
        const { choices } = await (await fetch(url + "/chat/completions", { method: "POST", headers, body })).json();
        return choices[0].message.content.length % 2;
      },
      expert: () => "2",
    });
    const policy = fromScratch({ size: "tiny", tokenizer: "bytes", threads: 1 });
    const algorithm = grpo({ groupSize: 4, uniformGroups: "keep" });
    export const config = { env, policy, algorithm, steps: 1, tasksPerStep: 1, eval: { tasks: 2 } };
  `,
  );
  const run = join(folder, "agent");
  const trained = await runCommand(["train", config, "--run", run]);
  expect(trained.stderr).toContain("ended: finished");
  expect(trained).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("finished after 1 step"),
  });
  expect(await runCommand(["eval", run, "--file", config])).toMatchObject({
    status: 0,
    stdout: expect.stringContaining("2 tasks of test"),
  });
});

describe("what cannot work is refused with a remedy", () => {
  test.each([
    [[], 2, /^bad-usage: got nothing, expected one file that exports `config`. See ludus train --help/],
    [["a.ts", "b.ts"], 2, /^bad-usage: got a.ts b.ts/],
    [["no-such.ts"], 2, /^no-such-file: got "no-such.ts", expected a file at \/.*no-such.ts/],
    [[fixture("no-env.ts")], 1, /^no-config-in-file: .*with environment.*export const config: TrainConfig/],
    [[fixture("half-config.ts")], 1, /^bad-config: .*no usable env, policy, algorithm, steps/],
    [[fakeConfigFile, "--set", "stesp=3"], 2, /^unknown-field: .*Did you mean "steps"\?/],
    [[fakeConfigFile, "--set", "steps=1.5"], 1, /^bad-config: got steps = 1.5/],
    [[fakeConfigFile, "--resum"], 2, /^unknown-option: .*Did you mean "--resume"\?/],
  ])("train %j", async (args, status, message) => {
    const result = await runCommand(["train", ...args]);
    expect(result).toMatchObject({ status, stdout: "" });
    expect(result.stderr).toMatch(message);
  });

  test("an import that is not there", async () => {
    const config = file("import.ts", 'import { env } from "./enw.ts";\nexport const config = env;\n');
    expect(await runCommand(["train", config])).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(/^import-missing: .*enw.ts/),
    });
  });
});

test("runs without a folder of their own are numbered, and the last is gone on with", async () => {
  const root = join(folder, "numbered");
  const choose = (isResumed: boolean) =>
    chooseRunDirectory(memoryRuns(), { wanted: undefined, isResumed, env: "shop", root });
  expect(await choose(false)).toBe(join(root, "shop-1"));
  await expect(choose(true)).rejects.toThrow(/nothing-to-resume/);
  for (const name of ["shop-1", "shop-10", "shop-9", "shop-x", "shop-small-70"])
    mkdirSync(join(root, name), { recursive: true });
  expect(await choose(false)).toBe(join(root, "shop-11"));
  expect(await choose(true)).toBe(join(root, "shop-10"));
});

test("a real policy is trained, measured and told of", async () => {
  const run = join(folder, "tiny");
  const { status, stdout } = await runCommand(["train", tinyConfigFile, "--run", run, "--quiet"]);
  expect(status).toBe(0);
  expect(stdout).toContain("finished after 10 steps");
  const evaluate = (...args: string[]) => runCommand(["eval", ...args, "--quiet", "--json"]);
  const last = await evaluate(run, "--file", tinyConfigFile, "--attempts", "2");
  expect(JSON.parse(last.stdout)).toMatchObject({
    policy: `${run}, step 9`,
    tasks: 8,
    attempts: 2,
    passAtK: { 2: { mean: expect.any(Number), low: expect.any(Number) } },
  });
  // the very weights that were trained: the run's own evaluation comes out again
  const after = /success \(95 %\) +\S+ \S+ \S+ +(\S+)/.exec(stdout)?.[1];
  const again = JSON.parse((await evaluate(run, "--file", tinyConfigFile)).stdout);
  expect(again.success.mean.toFixed(2)).toBe(after);
});
