import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { defineEnv } from "../env/define-env.ts";
import { alphaSchedule } from "../reward/alpha-schedule.ts";
import { softOverlong } from "../reward/length.ts";
import type { ScoredEpisode } from "../reward/reward.ts";
import { makeScore } from "../schema/score.ts";
import type { TrainingProgress } from "../schema/training-progress.ts";
import { generated } from "../task/generated.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { grpo } from "./presets/grpo.ts";
import { remax } from "./presets/reinforce.ts";
import { train } from "./train-sync.ts";

const outcome = ({ answer }: ScoredEpisode) => makeScore({ outcome: answer === "a" ? 1 : 0 });

function scored(score: (episode: ScoredEpisode) => ReturnType<typeof outcome> | Promise<ReturnType<typeof outcome>>) {
  return defineEnv({ name: "letter", tasks: generated(() => "a"), start: () => ({ state: {}, say: "a" }), score });
}

test("a reward that changes over training is told step and progress by train, and by a resumed run", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-progress-"));
  const weights: number[] = [];
  const seen = new Set<TrainingProgress | undefined>();
  const reward = alphaSchedule<unknown>({ outcome: () => makeScore({ outcome: 1 }), steps: () => [0] });
  const env = scored((episode) => {
    seen.add(episode.training);
    return reward(episode);
  });
  const run = (stopAfter: number) => {
    const stop = new AbortController();
    return train({
      ...{ env, policy: fakePolicy(), algorithm: grpo({ groupSize: 2 }), steps: 6, tasksPerStep: 1 },
      ...{ run: join(folder, "run"), save: { every: 1 }, signal: stop.signal, eval: { tasks: 1 } },
      monitors: [
        {
          name: "test",
          record(event) {
            if (event.type !== "step-end") return;
            weights.push(event.metrics["reward/outcome"]);
            if (weights.length === stopAfter) stop.abort();
          },
        },
      ],
    });
  };
  try {
    await run(3);
    const { after } = await run(Number.POSITIVE_INFINITY);
    expect(weights).toEqual([0.3, 0.3, 0.7, 0.7, 1, 1].map((value) => expect.closeTo(value, 6)));
    expect([...seen].filter((each) => each !== undefined).map(({ step }) => step)).toEqual(
      expect.arrayContaining([0, 1, 2, 3, 4, 5]),
    );
    // an evaluation is no part of training: the outcome alone
    expect(seen.has(undefined)).toBe(true);
    expect(after?.reward.mean).toBe(1);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a greedy baseline is scored at the same point of training as what is compared with it", async () => {
  const steps: (number | undefined)[] = [];
  const env = scored((episode) => {
    steps.push(episode.training?.step);
    return outcome(episode);
  });
  await train({ env, policy: fakePolicy(), algorithm: remax(), steps: 2, tasksPerStep: 1, eval: { tasks: 0 } });
  expect(steps).toEqual([0, 0, 1, 1]);
});

test("the length of an episode is told in sampled tokens: a letter and the end of the turn", async () => {
  const env = scored(softOverlong({ maxLength: 3, cacheLength: 2 }));
  const { metrics } = await train({
    ...{ env, policy: fakePolicy(), algorithm: grpo({ groupSize: 2 }), steps: 1, tasksPerStep: 1, eval: { tasks: 0 } },
  });
  expect(metrics["reward/length"]).toBe(-0.5);
  expect(metrics["rollout/sampled-tokens"]).toBe(4);
});
