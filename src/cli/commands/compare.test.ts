import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { runCommand } from "../testing/run-command.ts";
import { fakeConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
let [a, b] = ["", ""];
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-compare-"));
  a = await trainedRun(fakeConfigFile, join(folder, "a"));
  b = await trainedRun(fakeConfigFile, join(folder, "b"), "--set", "seed=5", "--set", "algorithm.groupSize=8");
});
afterAll(() => rmSync(folder, { recursive: true }));

test("two runs side by side: evaluation, metrics, curves and what was configured differently", async () => {
  const { status, stdout } = await runCommand(["compare", a, b]);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^last evaluation +0\.\d\d \[.*\] +0\.\d\d \[.*\] +-?0\.\d\d \[-?0\.\d\d, -?0\.\d\d\] /m);
  expect(stdout).toMatch(/^rollout\/reward +[\d.]+ +[\d.]+ +[-+]?[\d.]+$/m);
  expect(stdout).toMatch(/^rollout\/reward\n {2}.*\/a +[▁-█]{3} +[\d.]+ to [\d.]+$/mu);
  expect(stdout).toMatch(/^algorithm\.groupSize +4 +8$/m);
  expect(stdout).toMatch(/^seed +0 +5$/m);
  expect(stdout).not.toMatch(/^(steps|env\.name|run|identity)/m);
});

test("the same run is no different", async () => {
  const { stdout } = await runCommand(["compare", a, a]);
  expect(stdout).toContain("The configurations are the same.");
  expect(stdout).toContain("no difference that chance could not make");
});

test("--metric chooses, --json holds it all", async () => {
  const { stdout } = await runCommand(["compare", a, b, "--metric", "rollout/turns", "--json"]);
  expect(JSON.parse(stdout)).toMatchObject({
    runs: [a, b],
    metrics: [
      {
        name: "rollout/turns",
        curves: [
          [1, 1, 1],
          [1, 1, 1],
        ],
        final: [1, 1],
      },
    ],
    eval: { difference: { low: expect.any(Number) } },
  });
});

test.each([
  [["A"], /^bad-usage: .*expected the folders of two runs/],
  [["A", "B", "--metric", "rollout/rewrad"], /^unknown-metric: .*Did you mean "rollout\/reward"\?/],
  [["A", "B", "--metric", "gradient-norm"], /Did you mean "update\/gradient-norm"\?/],
])("compare %j is refused", async (args, message) => {
  const given = args.map((arg) => (arg === "A" ? a : arg === "B" ? b : arg));
  const { status, stderr } = await runCommand(["compare", ...given]);
  expect(status).toBe(2);
  expect(stderr).toMatch(message);
});

test("a folder without a run is named", async () => {
  const { status, stderr } = await runCommand(["compare", a, folder]);
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr: expect.stringMatching(/^no-such-run: .*Is it the run itself, not the folder above/),
  });
});
