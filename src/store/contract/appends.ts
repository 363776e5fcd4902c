import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { RunWrites } from "../store.ts";
import { dump, fakeGroup, type StoreContext } from "./context.ts";

export function transactionsContract(context: StoreContext): void {
  describe("transactions", () => {
    const everything = (step: number) => (run: RunWrites) => {
      run.recordMetrics(step, { loss: step });
      run.recordEvent(step, { type: "warning", message: `step ${step}` });
      run.recordGroup(step, fakeGroup(createRng(step), "a", 2), "train");
      run.setState(step, "guide", step);
      run.setConfig({ step });
    };

    test("one that throws leaves nothing behind, and the next one works", async () => {
      await context.write(everything(1));
      const before = await dump(context.run);
      const failing = context.write((run) => {
        everything(2)(run);
        throw new RangeError("in the middle");
      });
      await expect(failing).rejects.toThrow(RangeError);
      expect(await dump(context.run)).toEqual(before);
      await context.write(everything(2));
      expect(await context.run.latestStep()).toBe(2);
    });

    test("what waits, nests or writes afterwards is refused", async () => {
      const waiting = (): unknown => Promise.resolve();
      await expect(context.run.transaction(waiting)).rejects.toThrow("store-async");
      let nested: Promise<void> | undefined;
      await context.write(() => {
        nested = context.run.transaction(() => {});
        nested.catch(() => {});
      });
      await expect(nested).rejects.toThrow("store-nested");
      let leaked: RunWrites | undefined;
      await context.write((run) => {
        leaked = run;
      });
      expect(() => leaked?.recordMetrics(1, { loss: 1 })).toThrow("store-outside");
      expect(await context.run.latestStep()).toBeUndefined();
    });

    test("a reader sees whole transactions, as they come", async () => {
      await context.write(everything(1));
      const reader = await context.place.openReader();
      try {
        expect(await reader.latestStep()).toBe(1);
        await context.write(everything(2));
        expect(await dump(reader)).toEqual(await dump(context.run));
      } finally {
        await reader.close();
      }
    });

    test("a second writer is refused until the first has closed", async () => {
      await context.write(everything(1));
      await expect(context.place.open(() => 0)).rejects.toThrow(/store-locked.*expected one writer/);
      await context.write(everything(2));
      await context.reopen();
      expect(await context.run.latestStep()).toBe(2);
    });

    test("a run that forgot its last steps and went on equals one that never stopped", async () => {
      const other = await context.make();
      const uninterrupted = await other.open(() => 0);
      try {
        for (let step = 0; step < 8; step++) await uninterrupted.transaction(everything(step));
        await context.reopen(() => 0);
        for (let step = 0; step < 6; step++) await context.write(everything(step));
        await context.write((run) => run.recordMetrics(6, { "only/here": 1 }));
        await context.run.truncateAfter(3);
        await context.reopen(() => 0);
        expect(await context.run.latestStep()).toBe(3);
        for (let step = 4; step < 8; step++) await context.write(everything(step));
        expect(await dump(context.run)).toStrictEqual(await dump(uninterrupted));
      } finally {
        await uninterrupted.close();
        await other.remove();
      }
    });

    test("what was forgotten is not found when others take its place", async () => {
      const saying = (failure: string) => (run: RunWrites) =>
        run.recordGroup(1, fakeGroup(createRng(1), "a", 2, { stop: "env-crash", failure }), "train");
      await context.write(saying("zebra"));
      await context.run.truncateAfter(0);
      await context.write(saying("giraffe"));
      expect(await context.run.countTrajectories({ text: "zebra" })).toBe(0);
      expect(await context.run.countTrajectories({ text: "giraffe" })).toBe(2);
    });

    test("all steps can be forgotten", async () => {
      await context.write(everything(0));
      await context.run.truncateAfter(-1);
      expect(await context.run.latestStep()).toBeUndefined();
      expect(await context.run.metricNames()).toEqual([]);
      expect(await context.run.countTrajectories({ text: "search" })).toBe(0);
      await expect(context.run.truncateAfter(-2)).rejects.toThrow("bad-step");
    });
  });
}
