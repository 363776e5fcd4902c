import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import type { StepWrites } from "../store.ts";
import { dump, fakeGroup, type StoreContext } from "./context.ts";

export function appendsContract(context: StoreContext): void {
  describe("appends", () => {
    test("one with something that cannot be stored leaves nothing behind, and the next one works", async () => {
      await context.append(1, everything(1));
      const before = await dump(context.run);
      const group = fakeGroup(createRng(2), "a", 2);
      const advantages = new Map([
        [group.trajectories[1].id, new Float32Array(group.trajectories[1].mask_T.length + 1)],
      ]);
      const refused: readonly [StepWrites, string][] = [
        [{ ...everything(2), state: { guide: 2, broken: undefined } }, "bad-state"],
        [{ ...everything(2), config: () => {} }, "bad-state"],
        [{ ...everything(2), groups: [{ group, split: "train", advantages }] }, "bad-advantages"],
        [{ ...everything(2), pruneStateBefore: -1 }, "bad-step"],
        [{ ...everything(2), metrics: Object.fromEntries([["loss", "low"]]) as never }, "bad-metric: got loss = low"],
      ];
      for (const [writes, error] of refused) {
        await expect(context.append(2, writes), error).rejects.toThrow(error);
        expect(await dump(context.run), error).toEqual(before);
      }
      await context.append(2, everything(2));
      expect(await context.run.latestStep()).toBe(2);
    });

    test("a misspelt field is refused, with the one that was meant", async () => {
      const misspelt = { metrics: { loss: 1 }, event: [] };
      await expect(context.append(1, misspelt)).rejects.toThrow(/unknown-field.*Did you mean "events"\?/);
      expect(await context.run.latestStep()).toBeUndefined();
    });

    test("what is in it is what it was when it resolved, whatever the caller does with it later", async () => {
      const state = { pool: [1] };
      const group = fakeGroup(createRng(3), "a", 1);
      const [first] = group.trajectories.map(({ tokens_T }) => tokens_T.slice());
      await context.append(1, { state: { guide: state }, groups: [{ group, split: "train" }] });
      state.pool.push(2);
      group.trajectories[0].tokens_T.fill(0);
      expect(await context.run.state("guide")).toEqual({ pool: [1] });
      const [{ key }] = (await context.run.trajectories()).trajectories;
      expect((await context.run.trajectory(key)).trajectory.tokens_T).toEqual(first);
    });

    test("several that are not waited for take effect in order, and closing waits for them", async () => {
      const appends = Array.from({ length: 20 }, (_, i) =>
        context.append(20 - i, { metrics: { last: i }, state: { guide: i }, events: [warning(i)] }),
      );
      const overwrites = [3, 1, 2].map((last) => context.append(0, { metrics: { last } }));
      const closing = context.run.close();
      await Promise.all([...appends, ...overwrites, closing]);
      await context.reopen();
      const events = (await context.run.events()).map(({ event }) => event);
      expect(events).toEqual(Array.from({ length: 20 }, (_, i) => warning(i)));
      expect((await context.run.series("last"))[0]).toMatchObject({ step: 0, value: 2 });
      expect(await context.run.state("guide")).toBe(0);
    });

    test("one that is refused does not stop those behind it", async () => {
      const refused = context.append(1, { state: { guide: undefined } });
      const next = context.append(2, everything(2));
      await expect(refused).rejects.toThrow("bad-state");
      await next;
      expect(await context.run.latestStep()).toBe(2);
    });

    test("a reader sees whole appends, as they come", async () => {
      await context.append(1, everything(1));
      const reader = await context.reader();
      try {
        expect(await reader.latestStep()).toBe(1);
        await context.append(2, everything(2));
        expect(await dump(reader)).toEqual(await dump(context.run));
      } finally {
        await reader.close();
      }
    });

    test("readers beside a writer find everything of each step they hear of", async () => {
      const last = 30;
      const readers = await Promise.all([context.reader(), context.reader()]);
      const writing = Promise.all(
        Array.from({ length: last + 1 }, (_, step) => context.append(step, everything(step))),
      );
      const follow = async (reader: (typeof readers)[number]) => {
        for (let seen = -1; seen < last; ) {
          const step = (await reader.latestStep()) ?? -1;
          expect(step).toBeGreaterThanOrEqual(seen);
          seen = step;
          expect((await reader.series("loss", { to: step })).length).toBe(step + 1);
          expect((await reader.events()).length).toBeGreaterThanOrEqual(step + 1);
          expect(await reader.countTrajectories({ steps: { to: step } })).toBe(2 * (step + 1));
          expect(Number((await reader.state("guide")) ?? -1)).toBeGreaterThanOrEqual(step);
          await new Promise((done) => setImmediate(done));
        }
      };
      try {
        await Promise.all([writing, ...readers.map(follow)]);
      } finally {
        for (const reader of readers) await reader.close();
      }
    });

    test("a second writer is refused until the first has closed, and told who that is", async () => {
      await context.append(1, everything(1));
      await expect(context.secondWriter()).rejects.toThrow(
        /store-locked.*the run.*process \d+ on \S+ \(since \d{4}-.*expected one writer/,
      );
      await context.append(2, everything(2));
      await context.reopen();
      expect(await context.run.latestStep()).toBe(2);
    });
  });

  truncationContract(context);
}

function truncationContract(context: StoreContext): void {
  describe("forgetting", () => {
    test("a run that forgot its last steps and went on equals one that never stopped", async () => {
      const other = await context.make();
      const uninterrupted = await other.runs.openForWriting("other", { now: () => 0 });
      try {
        for (let step = 0; step < 8; step++) await uninterrupted.append(step, everything(step));
        await context.reopen(() => 0);
        for (let step = 0; step < 6; step++) await context.append(step, everything(step));
        await context.append(6, { metrics: { "only/here": 1 }, events: [{ type: "run-end", reason: "stopped" }] });
        await context.run.truncateAfter(3);
        await context.reopen(() => 0);
        expect(await context.run.latestStep()).toBe(3);
        for (let step = 4; step < 8; step++) await context.append(step, everything(step));
        expect(await dump(context.run)).toStrictEqual(await dump(uninterrupted));
      } finally {
        await uninterrupted.close();
        await other.remove();
      }
    });

    test("forgetting and what is kept of it are one append: when that is refused, nothing was forgotten", async () => {
      for (let step = 0; step < 3; step++) await context.append(step, everything(step));
      await context.append(2, { events: [{ type: "run-end", reason: "stopped" }] });
      const before = await dump(context.run);
      const group = fakeGroup(createRng(9), "kept", 2);
      const kept: StepWrites = { truncateAfter: 0, groups: [{ group, split: "buffered" }], metrics: { loss: 7 } };
      await expect(context.append(0, { ...kept, state: { broken: undefined } })).rejects.toThrow("bad-state");
      await expect(context.append(0, { ...kept, truncateAfter: -2 })).rejects.toThrow("bad-step");
      expect(await dump(context.run)).toEqual(before);

      await context.append(0, kept);
      expect(await context.run.latestStep()).toBe(0);
      expect(await context.run.state("guide")).toBe(0);
      expect(await context.run.series("loss")).toMatchObject([{ step: 0, value: 7 }]);
      expect((await context.run.events()).map(({ event }) => event)).toEqual([warning(0)]);
      expect(await context.run.countTrajectories()).toBe(4);
      const { trajectories } = await context.run.trajectories({ split: "buffered" }, { order: "oldest" });
      expect(trajectories.map(({ id }) => id)).toEqual(group.trajectories.map(({ id }) => id));

      await context.append(0, { ...kept, truncateAfter: -1 });
      expect(await context.run.countTrajectories()).toBe(2);
      expect(await context.run.state("guide")).toBeUndefined();
    });

    test("what was forgotten is not found when others take its place", async () => {
      const saying = (failure: string): StepWrites => ({
        groups: [{ group: fakeGroup(createRng(1), "a", 2, { stop: "env-crash", failure }), split: "train" }],
      });
      await context.append(1, saying("zebra"));
      await context.run.truncateAfter(0);
      await context.append(1, saying("giraffe"));
      expect(await context.run.countTrajectories({ text: "zebra" })).toBe(0);
      expect(await context.run.countTrajectories({ text: "giraffe" })).toBe(2);
    });

    test("all steps can be forgotten", async () => {
      await context.append(0, everything(0));
      await context.run.truncateAfter(-1);
      expect(await context.run.latestStep()).toBeUndefined();
      expect(await context.run.metricNames()).toEqual([]);
      expect(await context.run.countTrajectories({ text: "search" })).toBe(0);
      await expect(context.run.truncateAfter(-2)).rejects.toThrow("bad-step");
    });
  });
}

const warning = (number: number) => ({ type: "warning", message: `warning ${number}` }) as const;

/** Some of all that a step can have. */
function everything(step: number): StepWrites {
  return {
    metrics: { loss: step },
    events: [warning(step)],
    groups: [{ group: fakeGroup(createRng(step), "a", 2), split: "train" }],
    state: { guide: step },
    config: { step },
  };
}
