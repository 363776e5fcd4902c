import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { pythonEnv } from "../src/env/index.ts";
import { fromScratch, grpo, train } from "../src/index.ts";

process.env.PYTHONPATH = fileURLToPath(new URL("../src/env/python/fixtures/tasksets", import.meta.url));

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- other-environments
test.skipIf(!process.env.LUDUS_ENVIRONMENTS)("a policy is trained on an environment of Python", async () => {
  const limits = { turnTokens: 6, tokens: 6, turns: 1 };
  const options = { max_terms: 2, max_digits: 1 };
  const sums = pythonEnv({ from: "reasoning-gym", name: "chain_sum", options, limits });
  // an untrained policy finds no sum: digits are a beginning, so that groups differ
  const env = {
    ...sums,
    score: ({ answer }: { answer: string }) => ({ digits: (answer.match(/\d/g) ?? []).length / 100 }),
  };
  const { steps, metrics, policy } = await train({
    env,
    seed: 1,
    policy: fromScratch({ size: "tiny" }),
    algorithm: grpo({ groupSize: 16, learningRate: 1e-3 }),
    tasksPerStep: 4,
    steps: 3,
  });
  try {
    expect([steps, policy.engine.info.policyVersion]).toEqual([3, 3]);
    expect(Object.keys(metrics).filter((name) => /stop\/env-(crash|timeout)/.test(name) && metrics[name]! > 0)).toEqual(
      [],
    );
  } finally {
    await policy.engine.close();
  }
});

test.skipIf(!process.env.LUDUS_ENVIRONMENTS)("a policy is trained on a taskset of verifiers", async () => {
  const limits = { turnTokens: 6, tokens: 6, turns: 1 };
  const words = pythonEnv({ from: "verifiers", name: "ludus-words", limits });
  // beside what the rubric gives, which an untrained policy that never ends a turn does not reach
  const env = {
    ...words,
    score: ({ answer }: { answer: string }) => ({ letters: (answer.match(/[^\s]/g) ?? []).length / 100 }),
  };
  const { steps, metrics, policy } = await train({
    env,
    seed: 1,
    policy: fromScratch({ size: "tiny" }),
    algorithm: grpo({ groupSize: 16, learningRate: 1e-3 }),
    tasksPerStep: 4,
    steps: 3,
    eval: { tasks: 8 },
  });
  try {
    expect(steps).toBe(3);
    // a step in which all groups are uniform changes nothing
    expect(policy.engine.info.policyVersion).toBeGreaterThan(0);
    const names = Object.keys(metrics);
    expect(names.filter((name) => /stop\/env-(crash|timeout)/.test(name) && metrics[name]! > 0)).toEqual([]);
  } finally {
    await policy.engine.close();
  }
});
