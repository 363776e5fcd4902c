import { describe, expect, test } from "vitest";
import { defined } from "../defined.ts";
import { defineEnv } from "../env/define-env.ts";
import { demonstrate } from "../rollout/run-rollout.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { generated } from "../task/generated.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { grpo } from "./presets/grpo.ts";
import { train } from "./train-sync.ts";
import { imitate, succeeded, type WarmStart } from "./warm-start.ts";

const bare = { algorithm: grpo({ groupSize: 2 }), steps: 0, eval: { tasks: 0 } };

test("the loss is on what the demonstrator said, and on nothing it read", async () => {
  const policy = fakePolicy();
  const { metrics } = await train({
    ...bare,
    env: letters(),
    policy,
    warmStart: imitate({ demonstrations: 6, steps: 2, batchSize: 3 }),
  });
  expect(policy.engine.backwards).toHaveLength(2);
  for (const { batch, derivatives } of policy.engine.backwards) {
    expect(batch.rows).toHaveLength(3);
    for (const [b, { tokens }] of batch.rows.entries()) {
      // letter <s> letter <e> letter <s> letter <e>: four tokens of each row were said, 12 in all
      const said = Array.from(tokens, (_, t) => (t % 4 >= 2 ? Math.fround(-1 / 12) : 0));
      expect([...derivatives.logprobs_B_T![b]]).toEqual(said);
      expect(tokens[2]).toBe(tokens[0]);
    }
  }
  // a letter has probability 0.5, its end 1
  expect(metrics["imitation/nll"]).toBeCloseTo(Math.log(2) / 2, 6);
  expect(metrics["imitate/expert-success"]).toBe(1);
});

describe("demonstrations", () => {
  test("may be noisy, and may be chosen", async () => {
    const shown = async (filter?: typeof succeeded) => {
      const policy = fakePolicy();
      const options = { demonstrations: 40, noise: 1, steps: 1, batchSize: 8, ...defined({ filter }) };
      const { metrics } = await train({ ...bare, env: letters(), policy, warmStart: imitate(options) });
      return metrics;
    };
    const all = await shown();
    expect(all["imitate/expert-success"]).toBeGreaterThan(0);
    expect(all["imitate/expert-success"]).toBeLessThan(0.6);
    expect(all["imitate/demonstrations"]).toBe(40);
    const good = await shown(succeeded);
    expect(good["imitate/demonstrations"]).toBe(40 * good["imitate/expert-success"]);
  });

  test("may each have a noise of their own, in turn", async () => {
    const successes: boolean[] = [];
    const { prepare, ...rest } = imitate({ demonstrations: 40, noise: [0, 1], steps: 1, batchSize: 8 });
    const warmStart: WarmStart = {
      ...rest,
      prepare: (env, context, seed, learners) =>
        prepare(env, context, seed, learners, ({ id, trajectories }) => {
          successes[Number(id.split("/")[1])] = trajectories.every(succeeded);
        }),
    };
    await train({ ...bare, env: letters(), policy: fakePolicy(), warmStart });
    const [clean, random] = [0, 1].map((odd) => successes.filter((_, i) => i % 2 === odd));
    expect(clean).toEqual(Array(20).fill(true));
    expect(random.filter(Boolean).length).toBeLessThan(14);
  });

  test.each([[[]], [1.5], [[0, -1]], [Number.NaN]])("with noise %j are refused", (noise) => {
    expect(() => imitate({ noise })).toThrow(/bad-option: got imitate\(\{ noise: .*expected a share from 0 to 1/);
  });

  test("that crashed are not imitated; where none is left that is said", async () => {
    const broken = defineEnv({
      name: "broken",
      tasks: generated((rng) => rng.integer(2)),
      start: () => ({ state: {}, say: "a" }),
      act({ task }) {
        if (task === 0) throw new Error("boom");
        return { done: true };
      },
      score: () => 1,
      expert: () => "a",
    });
    const policy = fakePolicy();
    const warmStart = imitate({ demonstrations: 40, steps: 1 });
    const { metrics } = await train({ ...bare, env: broken, policy, warmStart });
    expect(metrics["imitate/demonstrations"]).toBeLessThan(35);
    expect(metrics["imitate/expert-success"]).toBe(1);
    const hopeless = { ...broken, act: () => Promise.reject(new Error("boom")) };
    await expect(train({ ...bare, env: hopeless, policy, warmStart })).rejects.toThrow(
      /everything-crashed.*0 of them sound, none kept: 40 × env-crash: Error: boom/,
    );
  });

  test("of other kinds can be mixed in", async () => {
    const env = letters({ alphabet: "a" });
    const others = letters({ alphabet: "b", turns: 1 });
    const policy = fakePolicy();
    let rows = await imitate({ demonstrations: 5 }).prepare(others, policy, 0, ["policy"]);
    const negatives = rows.rows(0).map(({ tokens_T }) => tokens_T.length);
    expect(new Set(negatives)).toEqual(new Set([4]));
    const shown = await demonstrate(others, await others.tasks.at("train", 0), policy, { id: "x", seed: 0 });
    const warmStart = imitate({ demonstrations: 5, batchSize: 400, mix: { rows: shown.trajectories, share: 0.25 } });
    rows = await warmStart.prepare(env, policy, 0, ["policy"]);
    const mixed = rows.rows(3).filter(({ tokens_T }) => tokens_T.length === 4).length;
    expect(mixed / 400).toBeCloseTo(0.25, 1);
    expect(() => imitate({ mix: { rows: [], share: 0.5 } })).toThrow(/mix without rows/);
  });
});

test("its steps are steps of the run, and learning comes after them", async () => {
  const events: RunEvent[] = [];
  await train({
    ...bare,
    env: letters({ turns: 1 }),
    policy: fakePolicy(),
    steps: 2,
    tasksPerStep: 2,
    warmStart: imitate({ demonstrations: 6, steps: 3, batchSize: 3 }),
    monitors: [{ name: "test", record: (event) => void events.push(event) }],
  });
  expect(events.flatMap((event) => (event.type === "phase-start" ? [event.phase] : []))).toEqual(["imitate", "grpo"]);
  expect(events.flatMap((event) => (event.type === "step-end" ? [event.step] : []))).toEqual([0, 1, 2, 3, 4]);
});
