import { expect, test } from "vitest";
import { bestOfN } from "../eval/select-attempts.ts";
import { runGroup } from "../rollout/run-group.ts";
import { attempt } from "./fixtures/attempt.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { tinyPolicy } from "./fixtures/tiny-policy.ts";
import { trainScorer, trainStepScorer } from "./scorer.ts";

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

test("a scorer of steps learns what each turn leads to, and goes on learning", async () => {
  const two = letters({ turns: 2, alphabet: "ab" });
  const policy = await tinyPolicy({ valueHead: true })(two, 0);
  const speaker = fakePolicy(0.5);
  const made = await Promise.all(
    Array.from({ length: 24 }, async (_, i) =>
      runGroup(two, await two.tasks.at("train", i), speaker, { id: `${i}`, seed: i, size: 4 }),
    ),
  );
  const all = made.flatMap(({ trajectories }) => trajectories);
  // a label that can be read off the turn's own words
  const labelsOf = ({ turns }: (typeof all)[number]) => turns.map(({ text }) => (text.startsWith("a") ? 1 : 0));
  const options = { labelsOf, epochs: 8, learningRate: 5e-3, batchSize: 16 };
  const scorer = await trainStepScorer(policy, all.slice(0, 48), options);
  await scorer.learn(all.slice(48));
  expect(scorer.examples).toBe(all.length);
  let right = 0;
  let count = 0;
  for (const trajectory of all) {
    const steps = await scorer.steps({ trajectories: [trajectory] });
    for (const [i, label] of labelsOf(trajectory).entries()) {
      right += steps[i] > 0.5 === (label === 1) ? 1 : 0;
      count++;
    }
    expect(await scorer.score({ trajectories: [trajectory] })).toBeCloseTo(Math.min(...steps), 10);
  }
  expect(right / count).toBeGreaterThan(0.9);
  await policy.engine.close();
});

test("a scorer of steps needs labels that differ, and names a misspelt option", async () => {
  const policy = fakePolicy(0.5, { value: () => 0 });
  const attempts = [attempt("a", [[3]], 1), attempt("b", [[4]], 1)];
  await expect(trainStepScorer(policy, attempts)).rejects.toThrow("no-examples");
  await expect(trainStepScorer(policy, attempts, { labelOf: () => 1 } as object)).rejects.toThrow('"labelsOf"');
});
