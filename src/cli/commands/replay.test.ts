import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { fakeTask, fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { makeTrajectoryGroup } from "../../schema/index.ts";
import { openRun } from "../../store/index.ts";
import { runCommand } from "../testing/run-command.ts";
import { tinyConfigFile, trainedRun } from "../testing/trained-run.ts";

let folder: string;
let run: string;
/** Rewards of step 0: NaN, 0.5, -1; of step 1: 0.2, 0.9, 0.9. */
let written: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-replay-"));
  run = await trainedRun(tinyConfigFile, join(folder, "run"));
  written = join(folder, "written");
  mkdirSync(written);
  await writeRun(written);
});
afterAll(() => rmSync(folder, { recursive: true }));

async function writeRun(directory: string): Promise<void> {
  const rng = createRng(1);
  const store = await openRun(directory, { now: () => 0 });
  for (const [step, rewards] of [
    [Number.NaN, 0.5, -1],
    [0.2, 0.9, 0.9],
  ].entries()) {
    const task = fakeTask(rng, `task-${step}`);
    const group = rewards.map((total, index) => {
      const score = { total, parts: { outcome: total }, success: total > 0.5 };
      const id = `${step}/${index}`;
      const turn = { span: { start: 1, end: 2 }, text: "\u001b[2Jhostile", calls: [], reward: 0, observation: "" };
      return fakeTrajectory(rng, {
        id,
        rollout: id,
        taskId: task.id,
        score,
        turns: [turn],
        stop: "completed",
        tokens_T: Int32Array.of(5, 6),
        mask_T: Uint8Array.of(0, 1),
        logprobs_T: Float32Array.of(0, -0.25),
        versions_T: Int32Array.of(-1, 3),
      });
    });
    // of the last step the last one was learned from
    const advantages = step === 0 ? new Map() : new Map([[group[2].id, Float32Array.of(0, -0.625)]]);
    await store.append(step, { groups: [{ group: makeTrajectoryGroup(task, group), split: "train", advantages }] });
  }
  await store.close();
}

const keyOf = async (...args: string[]) =>
  JSON.parse((await runCommand(["replay", written, ...args, "--json"])).stdout).summary.key;

test("best, worst and last are of a step, and keys name any episode", async () => {
  const secondStep = 2 ** 20;
  expect(await keyOf("best")).toBe(secondStep + 1);
  expect(await keyOf("worst")).toBe(secondStep);
  expect(await keyOf("last")).toBe(secondStep + 2);
  expect(await keyOf("best", "--step", "0")).toBe(1);
  expect(await keyOf("worst", "--step", "0")).toBe(2);
  expect(await keyOf("2")).toBe(2);
});

test("without a choice the episodes of a step are listed", async () => {
  const { stdout } = await runCommand(["replay", written, "--step", "0"]);
  const lines = stdout.trimEnd().split("\n");
  expect(lines[1]).toMatch(/^key +task +role +reward +success +stop +turns +tokens +tools$/);
  expect(lines.slice(2)).toEqual([
    expect.stringMatching(/^ *0 +task-0 +agent +NaN +no /),
    expect.stringMatching(/^ *1 +task-0 +agent +0.5 +no +completed +1 +2$/),
    expect.stringMatching(/^ *2 +task-0 +agent +-1 +no /),
  ]);
  expect(JSON.parse((await runCommand(["replay", written, "--json"])).stdout)).toHaveLength(3);
});

test("an episode is shown turn by turn, with what was read, rewards and the end", async () => {
  const { status, stdout } = await runCommand(["replay", run, "best"]);
  expect(status).toBe(0);
  expect(stdout).toMatch(
    /^.*run, step 9, episode \d+\ntask .*agent: \{"word":"[ab]{2}"\}\n\[read\]\n[ab]\n> .*\n\[turn 1 of \d: reward [\d.]+\]\n/,
  );
  expect(stdout).toMatch(/\[[a-z-]+ after \d turns, temperature 1\]\nscore [\d.]+, (no )?success\n/);
});

test("--tokens shows what was sampled and how probable it was", async () => {
  const { stdout } = await runCommand(["replay", run, "best", "--tokens"]);
  expect(stdout).toMatch(/^t +id +mask +logprob +version +text$/m);
  expect(stdout).toMatch(/^0 +\d+ +read +"[ab]"$/m);
  expect(stdout).toMatch(/^1 +\d+ +read +"<\|im_start\|>"$/m);
  expect(stdout).toMatch(/^2 +\d+ +sampled +-\d+\.\d{3} +\d+ +".+"$/m);
});

test("what was learned from shows its advantages", async () => {
  const { stdout } = await runCommand(["replay", written, "last", "--tokens"]);
  expect(stdout).toMatch(/^t +id +mask +logprob +version +advantage$/m);
  expect(stdout).toMatch(/^0 +5 +read$/m);
  expect(stdout).toMatch(/^1 +6 +sampled +-0\.250 +3 +-0\.625$/m);
  const json = JSON.parse((await runCommand(["replay", written, "last", "--json"])).stdout);
  expect(json.advantages_T).toEqual([0, -0.625]);
  const other = (await runCommand(["replay", written, "worst", "--tokens"])).stdout;
  expect(other).toContain("[not learned from: no advantages]");
  expect(other).toMatch(/^1 +6 +sampled +-0\.250 +3$/m);
});

test("without a checkpoint tokens are numbers, and what could take over a terminal is made visible", async () => {
  const { stdout } = await runCommand(["replay", written, "worst", "--tokens"]);
  expect(stdout).toContain("[1 tokens were read; no checkpoint to read them with]");
  expect(stdout).toMatch(/^1 +6 +sampled +-0\.250 +3$/m);
  expect(stdout).toContain("> \\u001b[2Jhostile\n");
  expect(stdout).not.toContain("\u001b");
});

test("held-out episodes are listed and shown, failed ones first", async () => {
  const { stdout } = await runCommand(["replay", run, "--split", "held-out"]);
  expect(stdout).toMatch(/run, step 9, held-out\n/);
  const success = stdout.split("\n").flatMap((line) => /agent +[\d.]+ +(yes|no)/.exec(line)?.[1] ?? []);
  expect(success).toHaveLength(8);
  expect(success).toEqual(success.toSorted());
  const worst = await runCommand(["replay", run, "worst", "--split", "held-out", "--json"]);
  expect(JSON.parse(worst.stdout).summary).toMatchObject({ split: "held-out", step: 9 });
  // without it, a step has the episodes it was learned from
  const { summary } = JSON.parse((await runCommand(["replay", run, "worst", "--json"])).stdout);
  expect(summary.split).toBe("train");
});

test("--speed waits between turns, and Ctrl-C ends the wait", async () => {
  const started = performance.now();
  const slow = await runCommand(["replay", written, "last", "--speed", "20"]);
  expect(performance.now() - started).toBeGreaterThan(90);
  expect(slow.stdout).toContain("score 0.9");
  expect(await runCommand(["replay", written, "last", "--speed", "0"])).toMatchObject({ status: 2 });
});

test.each([
  [["WRITTEN", "bets"], 2, /expected the key of an episode, best, worst or last.*lists keys/],
  [["WRITTEN", "best", "--step", "7"], 2, /^no-episodes: .*expected --step from 0 to 1/],
  [["RUN", "best", "--step", "0"], 2, /^no-episodes: .*--step from 8 to 9.*warm start/],
  [["WRITTEN", "best", "--split", "held-out"], 2, /^no-episodes: .*without held-out episodes yet/],
  [["WRITTEN", "999"], 1, /^no-such-trajectory/],
  [["nowhere", "best"], 1, /^no-such-run: got "nowhere"/],
])("replay %j is refused", async (args, status, message) => {
  const given = args.map((arg) => (arg === "RUN" ? run : arg === "WRITTEN" ? written : arg));
  const result = await runCommand(["replay", ...given]);
  expect(result.status).toBe(status);
  expect(result.stderr).toMatch(message);
});
