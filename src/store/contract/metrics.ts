import { describe, expect, test } from "vitest";
import type { RunEvent } from "../../schema/index.ts";
import { formerMetricNames } from "../../schema/metric-names.ts";
import { storedFailures } from "../stored-failures.ts";
import type { StoreContext } from "./context.ts";

export function metricsContract(context: StoreContext): void {
  describe("metrics", () => {
    test("a series has the last value of each step, in order of steps", async () => {
      await context.append(2, { metrics: { loss: 0.5, reward: 1 } });
      await context.append(1, { metrics: { loss: 0.75 } });
      await context.append(2, { metrics: { loss: 0.25 } });
      expect(await context.run.metricNames()).toEqual(["loss", "reward"]);
      expect((await context.run.series("loss")).map(({ step, value }) => [step, value])).toEqual([
        [1, 0.75],
        [2, 0.25],
      ]);
      expect(await context.run.latestStep()).toBe(2);
    });

    test("numbers come back as they were, those that are none too", async () => {
      const values = [0.1, -1e300, Number.NaN, Infinity, -Infinity, 2 ** 53, 5e-324];
      for (const [step, value] of values.entries()) await context.append(step, { metrics: { odd: value } });
      expect((await context.run.series("odd")).map(({ value }) => value)).toEqual(values);
    });

    test("a series can be cut, and joined into few points that keep the extremes", async () => {
      const values = Array.from({ length: 1000 }, (_, step) => (step === 555 ? 9 : step % 2));
      await Promise.all(values.map((loss, step) => context.append(step, { metrics: { loss } })));
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
      for (const step of [0, 1, 2, 3, 1_000_000]) {
        await context.append(step, { metrics: { loss: step === 1 ? Number.NaN : 2 } });
      }
      const points = await context.run.series("loss", { maxPoints: 3 });
      expect(points).toEqual([
        { step: 3, value: Number.NaN, min: 2, max: 2, count: 4 },
        { step: 1_000_000, value: 2, min: 2, max: 2, count: 1 },
      ]);
    });

    test("a step that is none is refused", async () => {
      for (const step of [-1, 0.5, Number.NaN]) {
        const appending = context.append(step, { metrics: { loss: 1 } });
        await expect(appending).rejects.toThrow(`bad-step: got step ${step}`);
      }
    });

    test("a run that stored older names is read under today's, in any question", async () => {
      const [[today, [older]]] = Object.entries(formerMetricNames);
      await context.append(1, { metrics: { [older]: 0.5, loss: 1 } });
      await context.append(2, { metrics: { [older]: 0.25 } });
      expect(await context.run.metricNames()).toEqual([today, "loss"].sort());
      const values = async (name: string) => (await context.run.series(name)).map(({ step, value }) => [step, value]);
      const stored = [
        [1, 0.5],
        [2, 0.25],
      ];
      expect(await values(today)).toEqual(stored);
      expect(await values(older)).toEqual(stored);
      // resumed by a version that writes today's name
      await context.append(2, { metrics: { [today]: 0.125 } });
      await context.append(3, { metrics: { [today]: 4 } });
      expect(await values(today)).toEqual([
        [1, 0.5],
        [2, 0.125],
        [3, 4],
      ]);
      expect(await context.run.series(today, { from: 2, maxPoints: 1 })).toEqual([
        { step: 3, value: 2.0625, min: 0.125, max: 4, count: 2 },
      ]);
      expect(await context.run.metricNames()).toEqual([today, "loss"].sort());
    });
  });

  describe("events", () => {
    test("failures come back by what they say, with counts, and go with their steps", async () => {
      const failure = (step: number, rollout: string, message: string, count: number): RunEvent => ({
        type: "failure",
        ...{ step, rollout, message, count },
        ...{ during: "training", stop: "env-crash", at: "at run (env.ts:3:9)", attempts: 8 },
      });
      await context.append(0, { events: [failure(0, "step-0/0/1", "Error: order 17 is gone", 3)] });
      // written again by a resumed run
      await context.append(0, { events: [failure(0, "step-0/0/1", "Error: order 17 is gone", 3)] });
      const later = [
        failure(1, "step-1/0/0", "Error: order 18 is gone", 4),
        failure(1, "step-1/0/2", "Error: no disk", 1),
      ];
      await context.append(1, { events: later });
      await context.reopen();
      const [gone, disk, ...others] = await storedFailures(context.run);
      expect(others).toEqual([]);
      expect(gone).toEqual({
        ...{ during: "training", stop: "env-crash", at: "at run (env.ts:3:9)", rollout: "step-0/0/1" },
        ...{ message: "Error: order 17 is gone", count: 7, firstStep: 0, lastStep: 1 },
        steps: [
          { step: 0, count: 3, attempts: 8 },
          { step: 1, count: 4, attempts: 8 },
        ],
      });
      expect(disk).toMatchObject({ message: "Error: no disk", count: 1, firstStep: 1 });
      await context.run.truncateAfter(0);
      expect(await storedFailures(context.run)).toEqual([{ ...gone, count: 3, lastStep: 0, steps: [gone.steps[0]] }]);
    });

    test("keep their order and time, and can be followed", async () => {
      await context.append(0, { events: [{ type: "run-start", name: "first" }] });
      await context.append(1, { events: [{ type: "step-end", step: 1, metrics: { loss: Number.NaN } }] });
      await context.append(2, { events: [{ type: "warning", message: "slow" }] });
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

    test("several of one append keep their order", async () => {
      const messages = ["b", "a", "a", "c"];
      await context.append(3, { events: messages.map((message) => ({ type: "warning", message })) });
      const events = (await context.run.events()).map(({ event }) => event);
      expect(events).toEqual(messages.map((message) => ({ type: "warning", message })));
    });

    test("what a resumed run says again is kept once: an evaluation of the same step, and the end", async () => {
      const evaluation = { type: "eval-end", step: 4, metrics: { "eval/success": 0.5 } } as const;
      const end = { type: "run-end", reason: "stopped" } as const;
      await context.append(4, { events: [evaluation, end] });
      await context.run.truncateAfter(4);
      expect((await context.run.events()).map(({ event }) => event)).toEqual([evaluation]);
      await context.append(4, { events: [evaluation] });
      await context.append(4, { events: [{ ...evaluation, metrics: { "eval/success": 0.75 } }] });
      await context.append(5, { events: [{ ...evaluation, step: 5 }, end] });
      const types = (await context.run.events()).map(({ step, event }) => [step, event.type]);
      expect(types).toEqual([
        [4, "eval-end"],
        [4, "eval-end"],
        [5, "eval-end"],
        [5, "run-end"],
      ]);
    });
  });
}
