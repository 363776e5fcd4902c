import { describe, expect, test } from "vitest";
import { collect } from "../../schema/index.ts";
import type { RunCatalog, RunFilter } from "../run-catalog.ts";
import type { StoreContext } from "./context.ts";

/** A run with some steps, closed again. */
async function makeRun(runs: RunCatalog, id: string, time: number, steps = 1): Promise<void> {
  const run = await runs.openForWriting(id, { now: () => time });
  for (let step = 0; step < steps; step++) await run.append(step, { metrics: { loss: step } });
  await run.append(0, { events: [{ type: "run-start", name: id }] });
  await run.close();
}

export function catalogContract(context: StoreContext): void {
  const idsOf = async (filter?: RunFilter) => (await collect(context.runs.list(filter))).map(({ id }) => id);
  const infoOf = async (id: string) => (await context.runs.info(id))!;

  describe("the catalog", () => {
    test("has nothing at an id where there is no run, and cannot open it", async () => {
      expect(await context.runs.info("none")).toBeUndefined();
      await expect(context.runs.open("none")).rejects.toThrow(/no-such-run: got "none"/);
    });

    test("lists runs with what is known of them, the last changed first", async () => {
      await makeRun(context.runs, "sweep/a", 10);
      await makeRun(context.runs, "sweep/b", 20);
      const listed = await collect(context.runs.list());
      expect(listed.map(({ id }) => id).sort()).toEqual(["sweep/a", "sweep/b", "the run"]);
      for (const [i, { changed }] of listed.entries()) {
        expect(changed).toBeLessThanOrEqual(listed[Math.max(0, i - 1)].changed);
      }
      expect(listed.find(({ id }) => id === "sweep/a")).toMatchObject({ name: "a", started: 10, isWritten: false });
      expect(await infoOf("sweep/b")).toEqual(listed.find(({ id }) => id === "sweep/b"));
    });

    test("searches ids by words, and gives parts of a list", async () => {
      for (const id of ["sweep/lr 1e-3", "sweep/lr 1e-4", "first"]) await makeRun(context.runs, id, 1);
      expect(await idsOf({ search: "1E-3 sweep" })).toEqual(["sweep/lr 1e-3"]);
      expect(await context.runs.count({ search: "sweep" })).toBe(2);
      expect(await context.runs.count()).toBe(4);
      const all = await idsOf();
      expect([...(await idsOf({ limit: 3 })), ...(await idsOf({ skip: 3, limit: 3 }))]).toEqual(all);
      expect(await idsOf({ skip: 9 })).toEqual([]);
    });

    test("says which runs are being written", async () => {
      expect((await infoOf("the run")).isWritten).toBe(true);
      await context.reopen();
      expect((await infoOf("the run")).isWritten).toBe(true);
      const reader = await context.reader();
      await context.run.close();
      expect((await infoOf("the run")).isWritten).toBe(false);
      await reader.close();
    });

    test("says how a run ended, until it goes on", async () => {
      await context.append(0, { events: [{ type: "step-end", step: 0, metrics: {} }] });
      expect((await infoOf("the run")).ended).toBeUndefined();
      await context.append(0, { events: [{ type: "run-end", reason: "early-stop" }] });
      expect((await infoOf("the run")).ended).toBe("early-stop");
      await context.append(1, { events: [{ type: "step-end", step: 1, metrics: {} }] });
      expect((await infoOf("the run")).ended).toBeUndefined();
    });

    test("gives another version after each write, and always the same run", async () => {
      const before = await infoOf("the run");
      await context.append(0, { metrics: { loss: 1 } });
      const after = await infoOf("the run");
      expect(after.version).not.toBe(before.version);
      expect(await infoOf("the run")).toEqual(after);
      await context.run.truncateAfter(-1);
      const truncated = await infoOf("the run");
      expect(truncated.version).not.toBe(after.version);
      expect([after.uid, truncated.uid]).toEqual([before.uid, before.uid]);
    });

    test("keeps runs apart: each has its writer, its data and its checkpoints", async () => {
      const other = await context.runs.openForWriting("other", { now: () => 5 });
      await other.append(3, { metrics: { loss: 3 } });
      await context.append(1, { metrics: { loss: 1 } });
      expect(await other.latestStep()).toBe(3);
      expect(await context.run.latestStep()).toBe(1);
      expect((await infoOf("other")).uid).not.toBe((await infoOf("the run")).uid);
      expect(context.runs.checkpointDirectory("other")).not.toBe(context.runs.checkpointDirectory("the run"));
      await other.close();
    });

    test.each(["", "..", "../other", "/etc", "a//b", "a/../../b", "a/."])("refuses the id %j", async (id) => {
      expect(await context.runs.info(id)).toBeUndefined();
      await expect(context.runs.open(id)).rejects.toThrow("no-such-run");
      await expect(context.runs.openForWriting(id, { now: () => 0 })).rejects.toThrow("bad-run-id");
      expect(() => context.runs.checkpointDirectory(id)).toThrow("bad-run-id");
    });
  });
}
