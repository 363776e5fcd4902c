import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
let run: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-eval-"));
  run = await trainedRun(fakeConfigFile, join(folder, "run"), "--set", "save.every=1", "--set", "seed=3");
});
afterAll(() => rmSync(folder, { recursive: true }));

test("a file's policy is measured as its configuration says, and progress is shown", async () => {
  const { status, stdout, stderr } = await runCommand(["eval", fakeConfigFile], { isTTY: true });
  expect(status).toBe(0);
  expect(stdout).toMatch(/12 tasks of test/);
  expect(stdout).toMatch(/success \(95 %\) +0\.\d\d \[/);
  expect(stderr).toContain("\r\u001b[K12 of 12 episodes");
  expect(stderr.endsWith("\r\u001b[K")).toBe(true);
});

test("options say otherwise; several attempts give pass@k and pass^k", async () => {
  const args = ["--tasks", "5", "--attempts", "4", "--split", "train", "--temperature", "0.5", "--json", "--quiet"];
  const { stdout, stderr } = await runCommand(["eval", fakeConfigFile, ...args]);
  expect(stderr).toBe("");
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({ split: "train", tasks: 5, attempts: 4, stops: { completed: 20 } });
  expect(Object.keys(report.passAtK)).toEqual(["1", "2", "4"]);
  const text = (await runCommand(["eval", fakeConfigFile, "--attempts", "4"])).stdout;
  expect(text).toMatch(/pass@2 +\d/);
  expect(text).toMatch(/pass\^4 +\d/);
});

test("a run is measured with the file that made it, at the checkpoint that is wanted", async () => {
  const measure = (...args: string[]) => runCommand(["eval", run, "--json", "--quiet", ...args]);
  expect(JSON.parse((await measure("--file", fakeConfigFile)).stdout).policy).toBe(`${run}, step 2`);
  const first = await measure("--file", fakeConfigFile, "--checkpoint", "1");
  expect(JSON.parse(first.stdout).policy).toBe(`${run}, step 1`);
  expect((await measure("--file", fakeConfigFile, "--checkpoint", "best")).status).toBe(0);
});

test("a run's policy is made with the run's seed, whatever the file says", async () => {
  const file = join(folder, "seeded.ts");
  const [make, wrong] = [JSON.stringify(fakeConfigFile), '"made with another seed"'];
  const text = `import { config as make } from ${make};
    export const config = () => ({ ...make(), async policy(env, seed) {
      if (seed !== 3) throw new Error(${wrong});
      return make().policy(env, seed);
    } });`;
  writeFileSync(file, text);
  const wrongly = await runCommand(["eval", file, "--quiet"]);
  expect(wrongly).toMatchObject({ status: 1, stderr: expect.stringContaining("another seed") });
  expect((await runCommand(["eval", run, "--file", file, "--quiet"])).status).toBe(0);
});

test("Ctrl-C stops without a report that is none", async () => {
  const { status, stdout } = await runCommand(["eval", fakeConfigFile, "--tasks", "500"], {
    isTTY: true,
    onProgress: (text, interrupt) => text.includes("K3 of") && interrupt("SIGINT"),
  });
  expect({ status, stdout }).toEqual({ status: 130, stdout: "" });
});

test.each([
  [[], /^bad-usage: got nothing, expected one file or one run folder/],
  [["RUN"], /^no-file: .*a run holds weights and records, no code.*--file train.ts/],
  [
    ["RUN", "--file", fakeConfigFile, "--checkpoint", "7"],
    /^no-such-checkpoint: .*expected one of (0, )?1, 2, best or last/,
  ],
  [[fakeConfigFile, "--checkpoint", "1"], /expected the folder of a run/],
  [[fakeConfigFile, "--split", "tset"], /^unknown-split: got "tset", expected one of train, test/],
  [[fakeConfigFile, "--temperature", "hot"], /^bad-option: got --temperature hot, expected a number/],
])("eval %j is refused", async (args, message) => {
  const result = await runCommand(["eval", ...args.map((arg) => (arg === "RUN" ? run : arg))]);
  expect(result).toMatchObject({ status: 2, stdout: "" });
  expect(result.stderr).toMatch(message);
});

test("a file of another environment does not fit a run", async () => {
  const other = fileURLToPath(new URL("../fixtures/guess-config.ts", import.meta.url));
  const { status, stderr } = await runCommand(["eval", run, "--file", other]);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^other-run: got a file with the environment guess, expected letters/);
});
