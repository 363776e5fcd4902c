import { expect, test } from "vitest";
import { bestOfN } from "../eval/select-attempts.ts";
import { runGroup } from "../rollout/run-group.ts";
import { attempt } from "./fixtures/attempt.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { trainScorer } from "./scorer.ts";

const env = letters({ turns: 1, alphabet: "a" });

test("learns from attempts, guided and not, which attempt of several to trust", async () => {
  const policy = await tinyPolicy({ valueHead: true })(env, 0);
  // the one that learns would say anything at all
  const speaker = fakePolicy(0.5);
  const groups = await Promise.all(
    Array.from({ length: 24 }, async (_, i) => {
      const task = await env.tasks.at("train", i);
      const hint = { annotations: { hint: { kind: "environment", text: `!${task.data.word}` } } };
      return runGroup(env, i % 2 === 0 ? task : { ...task, ...hint }, speaker, { id: `${i}`, seed: i, size: 4 });
    }),
  );
  const { engine } = policy;
  const before = engine.info.policyVersion;
  const scorer = await trainScorer(
    policy,
    groups.flatMap(({ trajectories }) => trajectories),
    { epochs: 10, learningRate: 5e-3, batchSize: 16 },
  );
  expect(scorer.examples).toBe(96);
  expect(scorer.metrics["reward-model/accuracy/scorer"]).toBe(1);
  expect(engine.info.policyVersion).toBe(before);

  const rollouts = [];
  for (let i = 0; i < 20; i++) {
    const task = await env.tasks.at("test", i);
    rollouts.push(...(await runGroup(env, task, speaker, { id: `t${i}`, seed: i, size: 4 })).rollouts);
  }
  const [one, best] = [await bestOfN({ rollouts }, () => 0), await bestOfN({ rollouts }, scorer.score)];
  expect(one.mean).toBeLessThan(0.8);
  expect(best.mean).toBeGreaterThan(0.85);
  const scores = await Promise.all(rollouts.map(scorer.score));
  for (const [i, { trajectories }] of rollouts.entries()) {
    expect(scores[i] > 0.5, `${i}`).toBe(trajectories[0].score.success);
  }
  await scorer.release();
  expect(engine.info.weights).toEqual(["policy"]);
  await engine.close();
});

test("needs a value head, and attempts of both outcomes", async () => {
  await expect(trainScorer(fakePolicy(), [])).rejects.toThrow(/value head/);
  const policy = fakePolicy(0.5, { value: () => 0 });
  const successes = [attempt("a", [[3]], 1), attempt("b", [[4]], 1)];
  await expect(trainScorer(policy, successes)).rejects.toThrow("no-examples: got 2 sound attempts of 1 outcomes");
});
