import { expect, test } from "vitest";
import { config as fakeConfig } from "./fixtures/fake-config.ts";
import { config as tinyConfig } from "./fixtures/tiny-config.ts";
import { setFields } from "./set-fields.ts";

test("fields are set, whether they are there or not, and the configuration itself stays as it was", () => {
  const config = fakeConfig();
  const changed = setFields(config, [
    ...["steps=10", "seed=3", "algorithm.groupSize=8", "algorithm.optimizer.learningRate=1e-4", "eval.split=train"],
    ...["budget.seconds=0.5", "rollout.limits.turns=7", "env.limits.turnTokens=2", 'learners=["policy"]'],
  ]);
  expect(changed).toMatchObject({ steps: 10, seed: 3, budget: { seconds: 0.5 }, learners: ["policy"] });
  expect(changed.algorithm).toMatchObject({
    name: "grpo",
    groupSize: 8,
    optimizer: { learningRate: 1e-4, beta2: 0.99 },
  });
  expect(changed.eval).toEqual({ tasks: 12, split: "train" });
  expect(changed.rollout).toEqual({ limits: { turns: 7 } });
  expect(changed.env.limits).toMatchObject({ turns: 1, turnTokens: 2 });
  expect(changed.env.tasks).toBe(config.env.tasks);
  expect(config).toEqual({ ...fakeConfig(), ...config });
  expect(config.algorithm.groupSize).toBe(4);
});

test("a schedule is replaced by a number", () => {
  expect(setFields(tinyConfig, ["warmStart.learningRate=2e-3"]).warmStart).toMatchObject({
    learningRate: 2e-3,
    steps: 8,
  });
});

test.each([
  ["stesp=3", /unknown-field: got "stesp".*Did you mean "steps"\?/],
  ["algorithm.grupSize=3", /Did you mean "algorithm.groupSize"\?/],
  ["algorithm.learningRate=3", /Did you mean "algorithm.optimizer.learningRate"\?/],
  ["__proto__.x=3", /unknown-field/],
  ["zzz=3", /one of steps, tasksPerStep, seed, /],
  ["policy.size=tiny", /not-a-field: got policy.size, though `policy` is a function.*Change it in the file/],
  ["algorithm.loss.clip=0.3", /`algorithm.loss` is a function or made of functions/],
  ["run=here", /expected --run <dir>/],
  ["warmStart.steps=3", /without `warmStart`/],
  ["algorithm.critic.pretrainSteps=3", /without `algorithm.critic`/],
  ["steps=many", /bad-set: got --set steps=many, expected a number/],
  ["steps=", /expected a number/],
  ["learners=policy", /expected a JSON list/],
  ["steps", /bad-set: got --set steps, expected path=value/],
])("--set %s is refused", (setting, message) => {
  expect(() => setFields(fakeConfig(), [setting])).toThrow(message);
});

test("an environment that is an instance of a class is not taken apart", () => {
  class Kept {
    limits = { turns: 3 };
  }
  const config = { ...fakeConfig(), env: new Kept() as unknown as ReturnType<typeof fakeConfig>["env"] };
  expect(() => setFields(config, ["env.limits.turns=4"])).toThrow(/`env` as a plain object/);
});
