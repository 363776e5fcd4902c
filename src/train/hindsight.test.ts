import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { goalDials } from "../env/environments/goal-dials.ts";
import { hindsight } from "../guide/hindsight.ts";
import { metric } from "../schema/metric-names.ts";
import { isRelabelled, makeTrajectory, relabelled, type Trajectory } from "../schema/trajectory.ts";
import type { TrajectoryGroup } from "../schema/trajectory-group.ts";
import { openRun } from "../store/index.ts";
import type { Algorithm } from "./algorithm.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { relabelling } from "./presets/relabelling.ts";
import { prepare } from "./stages/prepare.ts";
import { update } from "./stages/update.ts";
import { train } from "./train-sync.ts";

const ln = Math.log;
const deviation = { scale: "none" } as const;

/** Two tokens after the prompt `[1, 2]`, sampled with probability 0.5 each. */
function attempt(id: string, total: number): Trajectory {
  return makeTrajectory({
    id,
    rollout: id,
    taskId: "task",
    role: "agent",
    weights: "policy",
    weight: 1,
    stop: "completed",
    tokens_T: Int32Array.of(1, 2, 3, 4),
    mask_T: Uint8Array.of(0, 0, 1, 1),
    temperature: 1,
    logprobs_T: Float32Array.of(0, 0, ln(0.5), ln(0.5)),
    versions_T: Int32Array.of(-1, -1, 0, 0),
    turns: [{ text: "", calls: [], reward: 0, observation: "", span: { start: 2, end: 4 } }],
    score: { total, parts: {}, success: total >= 1 },
  });
}

const groupOf = (...trajectories: Trajectory[]): TrajectoryGroup => ({
  task: { id: "task", seed: 0, data: undefined },
  trajectories,
});
const own = groupOf(attempt("a", 1), attempt("b", 0));
const other = groupOf(relabelled(attempt("c", 1), "t"), relabelled(attempt("d", 0), "t"));

/** The derivatives of one update of a policy for which every token has the probability 1/8. */
async function learn(algorithm: Algorithm, ...groups: TrajectoryGroup[]) {
  const engine = fakeEngine({ vocabularySize: 8, distribution: Array<number>(8).fill(1) });
  const policy = { engine };
  const chosen = groups.map((group) => ({ group, scale: 1, isOffPolicy: group === other }));
  const prepared = await prepare({ policy, algorithm, learners: ["policy"] }, { groups: chosen });
  const metrics = await update({ policy, algorithm, learningStep: 0, progress: 0, seed: 0 }, prepared);
  const derivatives_B_T = engine.backwards[0]?.derivatives.logprobs_B_T?.map((row_T) => [...row_T]);
  return { derivatives_B_T, metrics };
}

describe("attempts that were sampled for another task", () => {
  test("by imitation: -log π of what succeeded, and the rest as if they were not there", async () => {
    const algorithm = relabelling(grpo({ deviation }), { coefficient: 0.5 });
    const { derivatives_B_T, metrics } = await learn(algorithm, own, other);
    expect(derivatives_B_T!.slice(0, 2)).toEqual((await learn(grpo({ deviation }), own)).derivatives_B_T);
    expect(derivatives_B_T).toHaveLength(3);
    for (const t of [2, 3]) expect(derivatives_B_T![2][t]).toBeCloseTo(-0.5 / 2, 6);
    expect(metrics["loss/hindsight-imitation"]).toBeCloseTo(0.5 * ln(8), 5);
  });

  test("by importance: advantages times the truncated ratio of both prompts, once", async () => {
    const { derivatives_B_T, metrics } = await learn(
      relabelling(grpo({ deviation }), { offPolicy: "importance" }),
      other,
    );
    const ratio = 1 / 8 / 0.5;
    // -A w / (2 rows of 2 tokens)
    for (const t of [2, 3]) expect(derivatives_B_T![0][t]).toBeCloseTo((-0.5 * ratio) / 4, 6);
    expect(metrics["hindsight/weight"]).toBeCloseTo(ratio, 6);
  });

  test("without it they are taken for attempts at their task", async () => {
    const { derivatives_B_T } = await learn(grpo({ deviation }), other);
    for (const t of [2, 3]) expect(derivatives_B_T![0][t]).toBeCloseTo(-0.5 / 4, 6);
  });
});

/** Any digit, then the end of the turn. */
const digits = (tokens: readonly number[]) =>
  Array.from({ length: 258 }, (_, id) => Number(tokens.at(-1) === 256 ? id >= 48 && id < 58 : id === 257));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "ludus-hindsight-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

test("a run learns from relabelled attempts, stores them with their tasks, and goes on where it stopped", async () => {
  const env = goalDials({ dials: 2 });
  const run = async (name: string, ...lives: number[]) => {
    for (const steps of lives) {
      const { metrics } = await train({
        env,
        policy: fakePolicy(0.5, { distribution: digits }),
        algorithm: relabelling(grpo({ groupSize: 2 })),
        guide: hindsight({ achieved: env.achieved }),
        steps,
        tasksPerStep: 2,
        eval: { tasks: 0 },
        run: join(folder, name),
        save: { every: 1 },
      });
      if (steps === lives.at(-1)) {
        expect(metrics[metric.extraGroups]).toBeGreaterThan(0);
      }
    }
    const stored = await openRun(join(folder, name), { readOnly: true });
    const { trajectories } = await stored.trajectories({}, { order: "oldest", limit: 200 });
    const whole = await Promise.all(trajectories.map(({ key }) => stored.trajectory(key)));
    await stored.close();
    return whole.map(({ task, trajectory }) => [
      task.data,
      trajectory.id,
      isRelabelled(trajectory),
      [...trajectory.tokens_T],
    ]);
  };
  const whole = await run("whole", 3);
  expect(await run("stopped", 1, 3)).toEqual(whole);
  expect(whole.filter(([, , isOther]) => isOther).length).toBeGreaterThan(3);
});
