import { expect, test } from "vitest";
import { codeTests } from "../reward/code-tests.ts";
import { weighted } from "../reward/combinators.ts";
import { composite } from "../reward/composite.ts";
import { memoryRuns } from "../store/index.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";

test("a run records where code is run to score it, however deep in the reward", async () => {
  const tests = () => [{ name: "one", expression: "1", expected: 1 }];
  const weak = weighted(0.5, codeTests({ tests, level: "process" }));
  const env = { ...letters({ turns: 1 }), score: composite({ outcome: codeTests({ tests }), again: weak }) };
  const store = memoryRuns();
  const algorithm = grpo({ groupSize: 4 });
  await train({
    env,
    algorithm,
    policy: fakePolicy(),
    steps: 1,
    tasksPerStep: 1,
    run: "scored",
    store,
    eval: { tasks: 0 },
  });
  const reader = await store.open("scored");
  expect(await reader.config()).toMatchObject({
    env: {
      scoring: [
        { name: "bubblewrap", level: "namespace" },
        { name: "process", level: "process" },
      ],
    },
  });
  await reader.close();
});
