import { describe, expect, test } from "vitest";
import { delegate } from "../engine/delegate.ts";
import type { EngineLack } from "../engine/engine-lack.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { grpo } from "./presets/grpo.ts";
import { linearSchedule } from "./schedule.ts";
import { train } from "./train-sync.ts";

/** A policy on an engine that cannot do these. */
function lacking(...lacks: readonly EngineLack[]) {
  const policy = fakePolicy();
  const engine = {
    ...delegate(policy.engine, {}),
    get info() {
      return { ...policy.engine.info, lacks };
    },
  };
  return { policy: { ...policy, engine }, samples: policy.engine.samples };
}

const config = { env: letters(), steps: 1, tasksPerStep: 2, eval: { tasks: 0 } };

describe("an algorithm that needs what the engine lacks", () => {
  test.each([
    ["entropies", { entropy: 0.01 }],
    ["temperatures", { temperature: 0.7 }],
    ["temperatures", { temperature: linearSchedule(1, 0.5) }],
    ["cuts", { topP: 0.9 }],
    ["cuts", { topK: 5 }],
  ] as const)("is refused by name before the first rollout: %s", async (lack, options) => {
    const { policy, samples } = lacking("candidates", lack);
    const algorithm = grpo({ groupSize: 4, ...options });
    await expect(train({ ...config, policy, algorithm })).rejects.toMatchObject({
      code: "engine-lacks",
      message: expect.stringContaining(`which lacks ${lack}`),
    });
    expect(samples).toHaveLength(0);
  });

  test("is not refused where it needs none of it", async () => {
    const { policy } = lacking("entropies", "temperatures", "cuts");
    const algorithm = grpo({ groupSize: 4, miniBatches: 2, epochs: 2 });
    expect((await train({ ...config, policy, algorithm })).reason).toBe("finished");
  });
});
