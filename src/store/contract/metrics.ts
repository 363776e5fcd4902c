import { describe, expect, test } from "vitest";
import type { StoreContext } from "./context.ts";

export function metricsContract(context: StoreContext): void {
  describe("metrics", () => {
    test("a series has the last value of each step, in order of steps", async () => {
      await context.write((run) => {
        run.recordMetrics(2, { loss: 0.5, reward: 1 });
        run.recordMetrics(1, { loss: 0.75 });
      });
      await context.write((run) => run.recordMetrics(2, { loss: 0.25 }));
      expect(await context.run.metricNames()).toEqual(["loss", "reward"]);
      expect((await context.run.series("loss")).map(({ step, value }) => [step, value])).toEqual([
        [1, 0.75],
        [2, 0.25],
      ]);
      expect(await context.run.latestStep()).toBe(2);
    });

    test("numbers come back as they were, those that are none too", async () => {
      const values = [0.1, -1e300, Number.NaN, Infinity, -Infinity, 2 ** 53, 5e-324];
      await context.write((run) => {
        for (const [step, value] of values.entries()) run.recordMetrics(step, { odd: value });
      });
      expect((await context.run.series("odd")).map(({ value }) => value)).toEqual(values);
    });

    test("a series can be cut, and joined into few points that keep the extremes", async () => {
      await context.write((run) => {
        for (let step = 0; step < 1000; step++) run.recordMetrics(step, { loss: step === 555 ? 9 : step % 2 });
      });
      const range = await context.run.series("loss", { from: 10, to: 12 });
      expect(range).toEqual(
        [10, 11, 12].map((step) => ({ step, value: step % 2, min: step % 2, max: step % 2, count: 1 })),
      );
      const points = await context.run.series("loss", { maxPoints: 10 });
      expect(points.map(({ step, count }) => [step, count])).toEqual(
        Array.from({ length: 10 }, (_, i) => [100 * i + 99, 100]),
      );
      expect(points[0]).toEqual({ step: 99, value: 0.5, min: 0, max: 1, count: 100 });
      expect(points[5]).toMatchObject({ min: 0, max: 9 });
      expect(await context.run.series("loss", { maxPoints: 1000 })).toHaveLength(1000);
    });

    test("steps far apart are joined into no more points than asked for", async () => {
      await context.write((run) => {
        for (const step of [0, 1, 2, 3, 1_000_000]) run.recordMetrics(step, { loss: step === 1 ? Number.NaN : 2 });
      });
      const points = await context.run.series("loss", { maxPoints: 3 });
      expect(points).toEqual([
        { step: 3, value: Number.NaN, min: 2, max: 2, count: 4 },
        { step: 1_000_000, value: 2, min: 2, max: 2, count: 1 },
      ]);
    });

    test("a step that is none is refused", async () => {
      for (const step of [-1, 0.5, Number.NaN]) {
        await expect(context.write((run) => run.recordMetrics(step, { loss: 1 }))).rejects.toThrow(
          `bad-step: got step ${step}`,
        );
      }
    });
  });

  describe("events", () => {
    test("keep their order and time, and can be followed", async () => {
      await context.write((run) => {
        run.recordEvent(0, { type: "run-start", name: "first" });
        run.recordEvent(1, { type: "step-end", step: 1, metrics: { loss: Number.NaN } });
      });
      await context.write((run) => run.recordEvent(2, { type: "warning", message: "slow" }));
      const events = await context.run.events();
      expect(events.map(({ step, event }) => [step, event.type])).toEqual([
        [0, "run-start"],
        [1, "step-end"],
        [2, "warning"],
      ]);
      expect(events[1].event).toEqual({ type: "step-end", step: 1, metrics: { loss: Number.NaN } });
      expect(events[0].time).toBeLessThan(events[1].time);
      expect(await context.run.events({ after: events[0].order, limit: 1 })).toEqual([events[1]]);
      expect(await context.run.events({ types: ["warning", "run-start"] })).toEqual([events[0], events[2]]);
      expect(await context.run.events({ types: [] })).toEqual([]);
    });
  });
}
