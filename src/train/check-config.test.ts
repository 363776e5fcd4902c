import { describe, expect, test } from "vitest";
import { codeRlCredit } from "../credit/code-rl-credit.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { type LettersTask, letters } from "./fixtures/letters.ts";
import { gigpo, grpo } from "./presets/grpo.ts";
import { ppo } from "./presets/ppo.ts";
import type { TrainConfig } from "./train.ts";
import { train } from "./train-sync.ts";

const nameless = { ...letters(), hasStateKeys: false };
const easy = { env: letters({ turns: 1 }), algorithm: grpo({ groupSize: 4 }), tasksPerStep: 4, eval: { tasks: 2 } };

const sharedPretrained = { ...ppo(), critic: { kind: "shared", learningRate: 1e-3, pretrainSteps: 3 } as const };

describe("a configuration that cannot work is refused before the first rollout", () => {
  const refusals: [string, Partial<TrainConfig<LettersTask>>, RegExp][] = [
    ["half a step", { steps: 1.5 }, /steps = 1.5/],
    ["no checkpoint retained", { save: { retain: 0 } }, /save.retain = 0/],
    ["groups of one to compare", { algorithm: grpo({ groupSize: 1 }) }, /group-too-small.*remax/s],
    ["a shared critic trained alone", { algorithm: sharedPretrained }, /separate/],
    ["weights of tokens that nothing gives", { algorithm: { ...grpo(), credit: codeRlCredit() } }, /`weigh`/],
    ["values of an engine without", { algorithm: ppo() }, /value head/],
    ["no environment", { env: undefined as never }, /got no `env`/],
    [
      "half an environment",
      { env: { name: "half" } as never },
      /an `env` without tasks, roles, limits, format, attempt/,
    ],
    ["states without names", { algorithm: gigpo(), env: nameless }, /stateKey/],
  ];
  test.each(refusals)("%s", async (_, changes, message) => {
    const policy = fakePolicy();
    await expect(train({ ...easy, policy, steps: 1, ...changes })).rejects.toThrow(message);
    expect(policy.engine.samples).toEqual([]);
  });
});
