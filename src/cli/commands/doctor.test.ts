import { mkdirSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Checkpoints } from "../../checkpoint/checkpoints.ts";
import { metric } from "../../monitor/index.ts";
import { createRng } from "../../random.ts";
import { fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { lookBriefly } from "../../server/dashboard/findings.ts";
import { openRun } from "../../store/index.ts";
import { runCli } from "../run-cli.ts";
import { runCommand } from "../testing/run-command.ts";
import { downConfigFile, tinyConfigFile, trainedRun } from "../testing/trained-run.ts";
import { doctor } from "./doctor.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-doctor-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function run(...args: string[]) {
  const written = { stdout: "", stderr: "" };
  const status = await runCli(["doctor", ...args], [doctor], {
    stdout: { write: (text) => (written.stdout += text) },
    stderr: { write: (text) => (written.stderr += text) },
  });
  return { status, ...written };
}

beforeAll(async () => {
  const store = await openRun(directory, { now: () => 0 });
  const rng = createRng(5);
  for (let step = 0; step < 10; step++) {
    const task = { id: "task-0", seed: 0, data: {} };
    const group = { task, trajectories: [fakeTrajectory(rng), fakeTrajectory(rng)] };
    const metrics = { [metric.reward]: step / 10, [metric.unsampledShare]: 0.25 };
    await store.append(step, { metrics, groups: [{ group, split: "train" }] });
  }
  await store.close();
});

test("findings are printed by severity with evidence and remedy, then invariants and the checklist", async () => {
  const { status, stdout } = await run(directory);
  expect(status).toBe(1);
  expect(stdout.replaceAll(directory, "runs/first")).toMatchInlineSnapshot(`
    "runs/first: 1 error.

    Errors

      observation-unmasked, since step 0
        25 % of the loss's derivatives are on tokens that were not sampled: the policy is trained on prompts and observations.
        Evidence: largestShare 0.25, steps 10, ofSteps 10, lastStep 9
        Remedy: Skip every token whose mask is 0 in the loss. A custom loss must multiply by mask_T, and must not fill advantages_T outside of it.

    Good to know

      not-checked, since step 0
        Not checked: log-probabilities recomputed equal those stored (no checkpoint has weights that sampled a stored rollout).
        Evidence: invariant log-probabilities recomputed equal those stored
        Remedy: Retain checkpoints (save: { retain }) and run ludus doctor on the run's folder.

    Invariants

      holds        the mask covers exactly the sampled tokens (20 trajectories)
      not checked  infrastructure failures are outside group statistics (0 steps)
      holds        rows of one rollout weigh one (20 rollouts)
      not checked  log-probabilities recomputed equal those stored (no checkpoint has weights that sampled a stored rollout)

    Checklist

      ok       failures: 0 % of rollouts failed through no fault of the policy
      ok       reward distribution: mean 0.1 → 0.8, 0 % of rewards are 0, quartiles -0.0327 -0.0327 0.89 0.89 0.957
      unknown  lengths and stop reasons: The run has no data for this.
      look     mask: 20 trajectories checked, 59.7 % of their tokens sampled; 25 % of derivatives on other tokens
      unknown  KL and entropy: The run has no data for this.
      unknown  reward std within groups: The run has no data for this.
      ok       tools: search 60 %, calculator 40 %; 60 % of calls failed
      unknown  sample efficiency: The run has no data for this.

    "
  `);
});

test("--json prints the same for programs", async () => {
  const { status, stdout } = await run(directory, "--json");
  const report = JSON.parse(stdout);
  expect(status).toBe(1);
  expect(report).toMatchObject({
    run: directory,
    findings: [{ code: "observation-unmasked", step: 0 }, { code: "not-checked" }],
  });
  expect(report.checklist).toHaveLength(8);
  expect(report.proofs.map(({ checked }: { checked: number }) => checked)).toEqual([20, 0, 20, 0]);
});

test("a truncated checkpoint is an error that names the folder and one that is whole", async () => {
  const folder = await trainedRun(tinyConfigFile, join(directory, "damaged"));
  const checkpoints = new Checkpoints(folder);
  const last = checkpoints.steps().at(-1)!;
  truncateSync(join(checkpoints.directory(last), "model.safetensors"), 1000);
  const { status, stdout } = await run(folder);
  expect(status).toBe(1);
  expect(stdout).toMatch(
    /checkpoint-damaged, since step 9\n +The checkpoint of step 9 is damaged: model.safetensors has 1000 bytes/,
  );
  expect(stdout).toMatch(/the checkpoint of step \d is whole/);
  expect(stdout).not.toContain("nothing is wrong");
  const quick = await lookBriefly(await openRun(folder, { readOnly: true }), checkpoints);
  expect(quick.map(({ code }) => code)).toContain("checkpoint-damaged");
});

test("a run in which everything crashed is told by its text, and as nothing else", async () => {
  const folder = join(directory, "crashed");
  await runCommand(["train", downConfigFile, "--run", folder, "--quiet"]);
  const { status, stdout } = await run(folder);
  expect(status).toBe(1);
  expect(stdout).toMatch(/crashed: 1 error\.\n/);
  expect(stdout).toMatch(
    /everything-crashed, since step 0\n +Every attempt of step 0 .*32 × env-crash: Error: database is down/,
  );
  expect(stdout).toContain(`train again with --run ${folder} --resume`);
  expect(stdout).toMatch(/look +failures: /);
  expect(stdout).not.toContain("zero-variance");
});

test("of a run without a step of learning it is not said that nothing is wrong", async () => {
  const folder = join(directory, "early");
  mkdirSync(folder);
  const store = await openRun(folder, { now: () => 0 });
  await store.append(0, { config: { env: { name: "early" } } });
  await store.close();
  const { status, stdout } = await run(folder);
  expect(status).toBe(0);
  expect(stdout).toContain("early: no step of learning was made");
  expect(stdout).not.toContain("nothing is wrong");
});

test("a remedy names the newest checkpoint from before the fault", async () => {
  const folder = join(directory, "skipped");
  mkdirSync(join(folder, "checkpoints", "step-000003"), { recursive: true });
  const store = await openRun(folder, { now: () => 0 });
  for (let step = 0; step < 10; step++) {
    const skipped = step === 6 ? 1 : 0;
    await store.append(step, {
      metrics: { [metric.reward]: 0.5, "update/skipped": skipped, "update/gradient-norm": 1 },
    });
  }
  await store.close();
  const { stdout } = await run(folder);
  expect(stdout).toMatch(/skipped-updates, since step 6\n/);
  expect(stdout).toContain(`ludus train train.ts --from ${folder}@3. Lower`);
});

test("a command line that is not understood, and a folder without a run", async () => {
  expect(await run()).toMatchObject({ status: 2, stderr: expect.stringContaining("the folder of one run") });
  expect(await run("a", "b")).toMatchObject({ status: 2 });
  expect(await run(directory, "--jason")).toMatchObject({ status: 2, stderr: expect.stringContaining('"--json"') });
  expect(await run(join(directory, "nowhere"))).toMatchObject({
    status: 1,
    stderr: expect.stringContaining("no-such-run"),
  });
});
