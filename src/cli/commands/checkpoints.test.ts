import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, tinyConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
let first: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-checkpoints-"));
  first = await trainedRun(tinyConfigFile, join(folder, "first"), "--set", "save.every=4", "--set", "save.retain=9");
});
afterAll(() => rmSync(folder, { recursive: true }));

test("checkpoints are listed with success, size and what they are", async () => {
  const { status, stdout } = await runCommand(["checkpoints", first]);
  expect(status).toBe(0);
  const [heads, ...rows] = stdout.trimEnd().split("\n");
  expect(heads).toMatch(/^step +eval +size +saved$/);
  expect(rows[0]).toMatch(/^ +3 +- +[\d.]+ MB +\d{4}-\d\d-\d\d \d\d:\d\d$/);
  expect(rows.at(-2)).toMatch(/^ +9 +[\d.]+ +[\d.]+ MB .*last$/);
  expect(rows.at(-1)).toBe(`Start a new run from one: npx ludus train <file.ts> --from ${first}@9`);
  const listed = JSON.parse((await runCommand(["checkpoints", first, "--json"])).stdout);
  expect(listed.map(({ step }: { step: number }) => step)).toEqual([3, 7, 9]);
  expect(listed.filter(({ isBest }: { isBest: boolean }) => isBest)).toHaveLength(1);
  expect(listed[0].bytes).toBeGreaterThan(10_000);
  expect(existsSync(listed[0].directory)).toBe(true);
});

test("a run without checkpoints, and a folder without a run", async () => {
  const nothing = await runCommand(["checkpoints", join(folder, "nowhere")]);
  expect(nothing).toMatchObject({ status: 1, stderr: expect.stringMatching(/^no-such-run: /) });
});

test("--from starts a new run from a checkpoint, which is told and listed, and --resume needs it no more", async () => {
  const second = join(folder, "second");
  const train = (...args: string[]) => runCommand(["train", tinyConfigFile, "--run", second, ...args]);
  const { status, stdout, stderr } = await train("--from", `${first}@7`, "--set", "seed=4");
  expect(stderr).toContain(`run letters, from step 7 of ${first}\n`);
  expect(stderr).not.toContain("phase imitate");
  expect({ status, stdout }).toMatchObject({ status: 0, stdout: expect.stringContaining("finished after 2 steps") });
  const list = (await runCommand(["runs", folder])).stdout;
  expect(list).toMatch(/state +started from\n/);
  expect(list).toMatch(new RegExp(`^second .*finished +${first}@7$`, "m"));
  const [run] = JSON.parse((await runCommand(["runs", folder, "--json", "--limit", "1"])).stdout);
  expect(run).toMatchObject({
    id: "second",
    parent: { run: first, step: 7, weights: expect.stringMatching(/^\w{64}$/) },
  });
  const resumed = await train("--resume", "--set", "steps=3", "--set", "seed=4");
  expect(resumed.stderr).toContain(`from step 7 of ${first}, resumed after step 1\n`);
  const measured = await runCommand(["eval", second, "--file", tinyConfigFile, "--quiet"]);
  expect(measured).toMatchObject({ status: 0, stdout: expect.stringContaining("success") });
});

test.each([
  [["--from", "@3"], 2, /^bad-option: got --from @3, expected <run>@<step>/],
  [["--from", "runs/x@first"], 2, /^bad-option: got --from runs\/x@first.*ludus checkpoints <run> lists them/],
  [["--from", "runs/nowhere"], 1, /^no-such-run: got "runs\/nowhere"/],
  [["--optimizer", "keep"], 2, /^bad-option: got --optimizer alone, expected --from with it/],
  [["--from", "runs/x", "--optimizer", "kept"], 2, /^bad-option: .*Did you mean "keep"\?/],
  [["--from", "runs/x", "--set", "warmStart.steps=3"], 2, /^(bad-set|not-a-field): /],
])("train %j is refused", async (args, status, message) => {
  const run = join(folder, "refused");
  const result = await runCommand(["train", fakeConfigFile, "--run", run, ...args]);
  expect(result).toMatchObject({ status, stdout: "", stderr: expect.stringMatching(message) });
  expect(existsSync(run)).toBe(false);
});
