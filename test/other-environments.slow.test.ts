import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { runCommand } from "../src/cli/testing/run-command.ts";
import { type PythonEnvOptions, pythonEnv } from "../src/env/index.ts";
import { fromScratch, grpo, train } from "../src/index.ts";

process.env.PYTHONPATH = fileURLToPath(new URL("../src/env/python/fixtures/tasksets", import.meta.url));

const limits = { turnTokens: 6, tokens: 24, turns: 2 };
const played: readonly PythonEnvOptions[] = [
  { from: "reasoning-gym", name: "chain_sum", options: { max_terms: 2, max_digits: 1 } },
  { from: "gymnasium", name: "FrozenLake-v1", options: { is_slippery: false } },
  { from: "textarena", name: "GuessTheNumber-v0" },
  { from: "verifiers", name: "ludus-words" },
];

// scripts/setup-environments.sh; LUDUS_ENVIRONMENTS=.venv-environments/bin/python npm run test:slow -- other-environments
describe.skipIf(!process.env.LUDUS_ENVIRONMENTS)("environments of Python", () => {
  test.each(played)("a policy is trained on $name of $from", async (options) => {
    const theirs = pythonEnv({ ...options, limits });
    // beside the library's rewards, which an untrained policy does not reach: digits are a beginning, so that groups differ
    const env = {
      ...theirs,
      score: ({ turns }: { turns: readonly { text: string; reward: number }[] }) => ({
        outcome: turns.reduce((sum, { reward }) => sum + reward, 0),
        digits: turns.reduce((sum, { text }) => sum + (text.match(/\d/g) ?? []).length, 0) / 100,
      }),
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

  test.each([
    ["reasoning-gym", "chain_sum"],
    ["gymnasium", "FrozenLake-v1"],
    ["textarena", "GuessTheNumber-v0"],
    ["verifiers", "textarena"],
  ])("ludus env list --from %s names what is there", async (library, name) => {
    const { status, stdout, stderr } = await runCommand(["env", "list", "--from", library]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n")).toContain(name);
    const { stdout: json } = await runCommand(["env", "list", "--from", library, "--json"]);
    expect(JSON.parse(json)).toContain(name);
  });
});
