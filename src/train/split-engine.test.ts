import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { embeddedSampler } from "../engine/embedded/embedded-sampler.ts";
import { type SamplerNews, splitEngine } from "../engine/split-engine.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { remains } from "./fixtures/kill-and-resume.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import type { MakePolicy } from "./learning-policy.ts";
import { areal } from "./presets/off-policy.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";
import { imitate } from "./warm-start.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-split-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const config = {
  env: letters({ alphabet: "ab", choices: "abcd" }),
  warmStart: imitate({ demonstrations: 20, noise: 0.5, steps: 5, batchSize: 8, learningRate: 1e-2 }),
  algorithm: areal({ groupSize: 4, learningRate: 3e-3 }),
  steps: 5,
  tasksPerStep: 4,
  eval: { tasks: 0 },
} satisfies Partial<TrainConfig>;

/** A trainer here and samplers in two other processes; `pids` are those that were started, in order. */
function apart(pids: number[], news: SamplerNews[]): MakePolicy {
  return async (env, seed) => {
    const made = await tinyPolicy()(env, seed);
    const { tokenizer } = made;
    const sampler = () =>
      embeddedSampler({
        threads: 1,
        onStart: (pid) => void pids.push(pid),
        ...(tokenizer === undefined ? {} : { tokenizer }),
      });
    const engine = splitEngine({
      trainer: made.engine,
      samplers: [sampler(), sampler()],
      retryMs: 1,
      onSampler: (each) => void news.push(each),
    });
    return { ...made, engine };
  };
}

/** Kills the first process of all after the first step of learning. */
function killer(pids: readonly number[]) {
  let isDone = false;
  return {
    name: "killer",
    record({ type, ...event }: RunEvent) {
      if (isDone || type !== "step-end" || !("step" in event) || event.step < 5) return;
      isDone = true;
      process.kill(pids[0], "SIGKILL");
    },
  };
}

test("a sampler that is killed in the middle of a run changes no number of it", async () => {
  const alone = await train({ ...config, policy: tinyPolicy(), run: join(folder, "alone") });
  await alone.policy.engine.close();
  const [pids, news]: [number[], SamplerNews[]] = [[], []];
  const policy = apart(pids, news);
  const result = await train({ ...config, policy, run: join(folder, "apart"), monitors: [killer(pids)] });
  await result.policy.engine.close();
  const { metrics, trajectories, checkpoints } = await remains(join(folder, "apart"));
  const expected = await remains(join(folder, "alone"));
  expect({ metrics, trajectories, checkpoints }).toEqual({
    metrics: expected.metrics,
    trajectories: expected.trajectories,
    checkpoints: expected.checkpoints,
  });
  expect(news.some(({ state }) => state === "down")).toBe(true);
  // it came back, as another process
  expect(pids).toHaveLength(3);
  expect(news.at(-1)).toMatchObject({ state: "up" });
});

test("nor does it end a run that rolls out ahead", async () => {
  const [pids, news]: [number[], SamplerNews[]] = [[], []];
  const policy = apart(pids, news);
  const run = { ...config, policy, run: join(folder, "ahead"), async: { staleness: 2 } };
  const result = await train({ ...run, monitors: [killer(pids)] });
  await result.policy.engine.close();
  expect(result.reason).toBe("finished");
  expect(pids).toHaveLength(3);
  const { trajectories } = await remains(join(folder, "ahead"));
  expect(trajectories).toHaveLength(5 * 4 * 4);
});
