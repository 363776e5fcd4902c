import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { trajectoryToJson } from "../schema/index.ts";
import { openRun, type RunReader } from "../store/index.ts";
import { runCommand } from "./testing/run-command.ts";
import { fakeConfigFile, trainedRun } from "./testing/trained-run.ts";

// What TensorBoard's own reader and pyarrow find in what `ludus export` wrote.

interface Found {
  readonly scalars: Readonly<Record<string, readonly (readonly [number, number, number])[]>>;
  readonly episodes: readonly Readonly<Record<string, unknown>>[];
  readonly messages: readonly (readonly { role: string; content: string }[])[];
}

const script = fileURLToPath(new URL("../../test/parity/exports.py", import.meta.url));
let folder: string;
let store: RunReader;
let found: Found;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ludus-exports-"));
  const run = await trainedRun(fakeConfigFile, join(folder, "run"));
  const paths = ["board", "episodes.parquet", "chat.parquet"].map((name) => join(folder, name));
  const formats = [["tensorboard"], ["trajectories"], ["chat", "--file", fakeConfigFile]];
  for (const [i, format] of formats.entries()) {
    const { status, stderr } = await runCommand(["export", run, "--out", paths[i], "--format", ...format]);
    expect(stderr).toMatch(/ in /);
    expect(status).toBe(0);
  }
  store = await openRun(run, { readOnly: true });
  const output = execFileSync(process.env.LUDUS_PYTHON ?? "python3", [script, ...paths], {
    encoding: "utf8",
    maxBuffer: 1 << 28,
    stdio: ["ignore", "pipe", "ignore"],
  });
  found = JSON.parse(output);
});
afterAll(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

test("TensorBoard reads every metric of every step, at the time of the step", async () => {
  const times = new Map(
    (await store.events({ types: ["step-end", "eval-end"] })).map(({ step, time }) => [step, time]),
  );
  const names = await store.metricNames();
  expect(Object.keys(found.scalars).sort()).toEqual([...names].sort());
  for (const name of names) {
    const points = await store.series(name);
    const read = found.scalars[name];
    expect(read.map(([step]) => step)).toEqual(points.map(({ step }) => step));
    for (const [i, { step, value }] of points.entries()) {
      expect(read[i][1]).toBeCloseTo(times.get(step)! / 1000, 3);
      expect(read[i][2]).toBe(Math.fround(value));
    }
  }
});

test("pyarrow reads every episode, tokens and all", async () => {
  const { trajectories } = await store.trajectories({ split: "train" }, { order: "oldest", limit: 1000 });
  expect(found.episodes).toHaveLength(trajectories.length);
  for (const [i, { key }] of trajectories.entries()) {
    const { trajectory, advantages_T } = await store.trajectory(key);
    const { tokens_T, mask_T, logprobs_T, versions_T, id, score } = trajectoryToJson(trajectory);
    expect(found.episodes[i]).toMatchObject({
      id,
      reward: score.total,
      success: score.success,
      tokens: tokens_T,
      mask: mask_T,
      logprobs: logprobs_T,
      versions: versions_T,
      advantages: advantages_T === undefined ? null : [...advantages_T],
    });
  }
});

test("pyarrow reads conversations as lists of messages", () => {
  for (const messages of found.messages) {
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
  }
  expect(found.messages.length).toBeGreaterThan(0);
});
