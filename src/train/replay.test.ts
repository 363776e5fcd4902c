import { describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { truncatedRatio } from "../loss/corrections.ts";
import { createRng } from "../random.ts";
import type { RunEvent } from "../schema/run-event.ts";
import { attempt, groupOf } from "./fixtures/attempt.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { letters } from "./fixtures/letters.ts";
import { grpo } from "./presets/grpo.ts";
import { replayGroups, replaySuccesses, turnsWithin } from "./replay.ts";
import { fifoBuffer, priorityBuffer } from "./replay-buffer.ts";
import { train } from "./train-sync.ts";

const ln = Math.log;
const fresh = (count: number) => Array.from({ length: count }, () => ({ group: groupOf(), scale: 1 }));
const engine = () => fakeEngine({ vocabularySize: 10, distribution: new Array(10).fill(1) });

describe("whole groups", () => {
  test("as many as the share says, weighted as the buffer says", async () => {
    const replay = replayGroups({ buffer: priorityBuffer({ capacity: 9, priorityOf: worth, alpha: 1 }), share: 0.5 });
    replay.observe([
      groupOf(attempt("a", [[2]], 1, { taskId: "1" })),
      groupOf(attempt("b", [[2]], 4, { taskId: "2" })),
    ]);
    const seen = new Map<string, number>();
    for (let seed = 0; seed < 20; seed++) {
      const drawn = await replay.draw({ engine: engine(), fresh: fresh(3), rng: createRng(seed) });
      expect(drawn).toHaveLength(2);
      for (const { group, scale } of drawn) seen.set(group.trajectories[0].id, scale);
    }
    expect(Object.fromEntries(seen)).toEqual({ a: 1, b: 0.25 });
  });

  const worth = ({ trajectories }: ReturnType<typeof groupOf>) => trajectories[0].score.total;

  test("that ended in an infrastructure failure are not kept", async () => {
    const replay = replayGroups({ buffer: fifoBuffer({ capacity: 9 }), share: 1 });
    replay.observe([groupOf(attempt("a", [[2]], 1, { stop: "engine-error" }))]);
    expect(await replay.draw({ engine: engine(), fresh: fresh(3), rng: createRng(0) })).toEqual([]);
  });
});

describe("the window of probabilities", () => {
  const trajectory = attempt("a", [[2, 2], [3], [4, 4], [5]], 1);
  const logprobs = (...p: readonly number[]) => {
    const row = new Float32Array(trajectory.tokens_T.length);
    let k = 0;
    trajectory.mask_T.forEach((m, t) => {
      if (m === 1) row[t] = ln(p[k++]);
    });
    return row;
  };
  const window = { above: 0.5, upTo: 0.95 };

  test("is of geometric means of turns, open below and closed above", () => {
    // √(0.3 · 0.9) = 0.52; 0.5 is out; √(0.9 · 0.9); above 0.95 is out
    expect(turnsWithin(trajectory, logprobs(0.3, 0.9, 0.49999, 0.9, 0.9, 0.96), window)).toEqual([0, 2]);
    expect(turnsWithin(trajectory, logprobs(0.2, 0.9, 0.51, 0.99, 0.99, 0.94), window)).toEqual([1, 3]);
    expect(turnsWithin(trajectory, logprobs(1, 1, 0.5, 1, 1, 0.95), { above: 0.5, upTo: 1 })).toContain(3);
  });
});

describe("successes", () => {
  const success = attempt("good", [[3], [2], [3]], 1);
  const failure = attempt("bad", [[3]], 0);
  // p(3) = 0.6 / 0.9, p(2) = 0.3 / 0.9
  const surprised = () => fakeEngine({ vocabularySize: 10, distribution: [0, 0, 0.3, 0.6, 0, 0, 0, 0, 0, 0] });
  const turnsOf = (masks: readonly Uint8Array[]) => masks.map((mask) => mask.join(""));

  test("one of each task, in it the turns within the window", async () => {
    const replay = replaySuccesses();
    replay.observe([groupOf(failure, success)]);
    const drawn = await replay.draw({
      engine: surprised(),
      fresh: [{ group: groupOf(failure, success), scale: 1 }],
      rng: createRng(0),
    });
    expect(drawn.flatMap(({ group }) => group.trajectories.map(({ id }) => id))).toEqual(["good"]);
    expect(turnsOf(drawn.flatMap(({ group }) => group.trajectories.map(({ mask_T }) => mask_T)))).toEqual(["010001"]);
    const [learned] = drawn[0].group.trajectories;
    expect([...learned.logprobs_T]).toEqual([0, -0.5, 0, 0, 0, -0.5]);
  });

  test("at most twice as many turns as there are fresh ones", async () => {
    const replay = replaySuccesses({ share: 2 });
    const many = Array.from({ length: 10 }, (_, i) => groupOf(attempt(`${i}`, [[3], [3], [3]], 1, { taskId: `${i}` })));
    replay.observe(many);
    const drawn = await replay.draw({
      engine: surprised(),
      fresh: [{ group: groupOf(success), scale: 1 }],
      rng: createRng(0),
    });
    const turns = drawn.flatMap(({ group }) =>
      group.trajectories.map(({ mask_T }) => mask_T.reduce((a, b) => a + b, 0)),
    );
    expect(turns.reduce((a, b) => a + b, 0)).toBe(6);
  });

  test("are found again when a run is resumed", async () => {
    const group = groupOf(failure, success);
    const replay = replaySuccesses();
    replay.observe([group]);
    const resumed = replaySuccesses();
    await resumed.restore(JSON.parse(JSON.stringify(replay.state())), async (rollout) => {
      expect(rollout).toBe("good");
      return group;
    });
    const context = () => ({ engine: surprised(), fresh: [{ group, scale: 1 }], rng: createRng(0) });
    expect(await resumed.draw(context())).toEqual(await replay.draw(context()));
  });
});

test("a trainer mixes them in, with log-probabilities of the policy as it is and corrections", async () => {
  const steps: Readonly<Record<string, number>>[] = [];
  const monitor = {
    name: "test",
    record: (event: RunEvent) => {
      if (event.type === "step-end") steps.push(event.metrics);
    },
  };
  // what was sampled at 0.5 is less probable later on
  const policy = fakePolicy((version) => (version === 0 ? 0.5 : 0.3));
  await train({
    env: letters({ turns: 1 }),
    policy,
    steps: 2,
    tasksPerStep: 4,
    eval: { tasks: 0 },
    monitors: [monitor],
    algorithm: grpo({ groupSize: 8, uniformGroups: "keep", corrections: [truncatedRatio()] }),
    replay: () => replayGroups({ buffer: fifoBuffer({ capacity: 4 }), share: 1 }),
  });
  expect(policy.engine.backwards.map(({ batch }) => batch.rows.length)).toEqual([32, 64]);
  expect(steps[0]["policy/correction-mean"]).toBe(1);
  expect(steps[1]["policy/correction-mean"]).not.toBe(1);
  // nothing of it is counted as rolled out
  expect(steps[1]["rollout/sampled-tokens"]).toBe(64);
});
