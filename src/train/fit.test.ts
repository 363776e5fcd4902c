import { expect, test } from "vitest";
import { imitation } from "../loss/imitation.ts";
import { metric } from "../schema/metric-names.ts";
import { fit as fitRows } from "./fit.ts";
import { fakePolicy } from "./fixtures/fake-policy.ts";
import { learnRow } from "./fixtures/learn-row.ts";

const optimizer = { learningRate: (progress: number) => 1 - progress, weightDecay: 0, beta2: 0.99, maxGradientNorm: 1 };
const rows = [learnRow({ id: "a", tokens_T: Int32Array.of(256, 97, 257) })];

function fitting(options: Partial<Parameters<typeof fitRows>[0]> = {}) {
  const { engine } = fakePolicy();
  const asked: number[] = [];
  const recorded: Record<string, number>[] = [];
  const done = fitRows({
    engine,
    loss: imitation(),
    optimizer,
    seed: 0,
    steps: 4,
    rows(step) {
      asked.push(step);
      return rows;
    },
    async record(step, metrics) {
      recorded.push({ step, ...metrics });
    },
    ...options,
  });
  return { engine, asked, recorded, done };
}

test("each step asks for its rows, updates and records, with the schedule of the whole", async () => {
  const { engine, asked, recorded, done } = fitting();
  const last = await done;
  expect(asked).toEqual([0, 1, 2, 3]);
  expect(engine.info.policyVersion).toBe(4);
  expect(recorded.map((each) => [each.step, each[metric.learningRate]])).toEqual([
    [0, 1],
    [1, 0.75],
    [2, 0.5],
    [3, 0.25],
  ]);
  expect(recorded.every((each) => each[metric.seconds("update")] >= 0)).toBe(true);
  expect(last[metric.learningRate]).toBe(0.25);
});

test("a resumed fit makes the steps that are left, as if it had never stopped", async () => {
  const { asked, recorded, done } = fitting({ firstStep: 2 });
  await done;
  expect(asked).toEqual([2, 3]);
  expect(recorded.map((each) => each[metric.learningRate])).toEqual([0.5, 0.25]);
});

test("it stops before the next step when told to, and makes none where there are none", async () => {
  let left = 2;
  const stopped = fitting({ shouldStop: () => left-- === 0 });
  await stopped.done;
  expect(stopped.asked).toEqual([0, 1]);
  expect(await fitting({ steps: 0 }).done).toEqual({});
});

test("rows that throw end it, with nothing recorded for that step", async () => {
  const failing = fitting({
    rows(step) {
      if (step === 1) throw new Error("no rows today");
      return rows;
    },
  });
  await expect(failing.done).rejects.toThrow("no rows today");
  expect(failing.recorded.map(({ step }) => step)).toEqual([0]);
});
