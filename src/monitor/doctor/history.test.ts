import { expect, test } from "vitest";
import { History } from "./history.ts";

function made(steps: number, value = (step: number) => step): History {
  const history = new History(undefined);
  for (let step = 0; step < steps; step++) history.add({ type: "step-end", step, metrics: { a: value(step) } });
  return history;
}

test("a short run has a point for each step", () => {
  expect(made(900).series("a")).toHaveLength(900);
  expect(
    made(3)
      .series("a")
      .map(({ step, value, max }) => [step, value, max]),
  ).toEqual([
    [0, 0, 0],
    [1, 1, 1],
    [2, 2, 2],
  ]);
});

test("a long run has no more points than a short one; each has the mean and the largest of its steps", () => {
  const points = made(100_000).series("a");
  expect(points.length).toBeGreaterThan(400);
  expect(points.length).toBeLessThanOrEqual(1000);
  const width = 128;
  points.slice(0, -1).forEach(({ step, value, max }, i) => {
    expect(step).toBe((i + 1) * width - 1);
    expect(max).toBe(step);
    expect(value).toBeCloseTo(step - (width - 1) / 2, 6);
  });
  expect(points.at(-1)!.step).toBe(99_999);
});

test("the last value of a step counts, joined or not", () => {
  const history = made(2049, () => 1);
  const say = (step: number, a: number) => history.add({ type: "eval-end", step, metrics: { a } });
  say(2048, 9);
  expect(history.series("a").at(-1)).toMatchObject({ step: 2048, value: 9, max: 9 });
  say(2049, 5);
  say(2049, 3);
  expect(history.series("a").at(-1)).toMatchObject({ step: 2049, value: 6, max: 9 });
});

test("a value that is no number is seen in its part", () => {
  const points = made(5000, (step) => (step === 100 ? Number.NaN : 1)).series("a");
  expect(points.filter(({ value }) => Number.isNaN(value))).toHaveLength(1);
});

test("events do not pile up", () => {
  const history = new History(undefined);
  for (let i = 0; i < 20_000; i++) history.add({ type: "warning", message: `${i}` });
  expect(history.events.length).toBeLessThanOrEqual(4000);
  expect(history.events.at(-1)).toEqual({ type: "warning", message: "19999" });
});
