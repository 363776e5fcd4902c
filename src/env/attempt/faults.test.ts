import { getEventListeners } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { byteTokenizer } from "../../policy/byte-tokenizer.ts";
import { compactRenderer } from "../../policy/compact-renderer.ts";
import { runRollout } from "../../rollout/run-rollout.ts";

import { startCalmRollouts } from "./contract/calm-rollouts.ts";
import { type FaultRow, faultPage, partsOf, withoutTimes } from "./contract/fault-table.ts";
import { type Fault, faultLimits, faults } from "./contract/faults.ts";
import { scriptedEngine } from "./contract/scripted-engine.ts";

const others = 1_000;
const tokenizer = byteTokenizer();
const renderer = compactRenderer({ tokenizer });
const page = join(import.meta.dirname, "../../../docs/reference/faults.md");
const rows: FaultRow[] = [];

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");
let heapBefore = 0;
let resourcesBefore: Record<string, number> = {};

/** What keeps the program alive, counted by kind. The test runner's own timers come and go, so the least of several looks. */
async function quietResources(): Promise<Record<string, number>> {
  const looks: Record<string, number>[] = [];
  for (let i = 0; i < 5; i++) {
    await sleep(10);
    looks.push(resources());
  }
  const kinds = [...new Set(looks.flatMap((look) => Object.keys(look)))];
  return Object.fromEntries(kinds.map((kind) => [kind, Math.min(...looks.map((look) => look[kind] ?? 0))]));
}

function resources(): Record<string, number> {
  const kinds = Map.groupBy(process.getActiveResourcesInfo(), (kind) => kind);
  return Object.fromEntries([...kinds].map(([kind, { length }]) => [kind, length]));
}

/** What is there now and was not. */
function leftBehind(before: Readonly<Record<string, number>>): [kind: string, count: number][] {
  return Object.entries(resources()).filter(([kind, count]) => count > (before[kind] ?? 0));
}

async function eventually(check: () => void): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    try {
      return check();
    } catch {
      await sleep(20);
    }
  }
  check();
}

async function inject(fault: Fault, signal: AbortSignal) {
  const policy = scriptedEngine({ tokenizer, renderer, says: fault.says, contextLength: 1 << 15 });
  const task = await fault.env.tasks.at("train", 0);
  return runRollout(fault.env, task, policy, { id: "faulty", seed: 1, signal, ...fault.options });
}

const toolOf = (fault: Fault) => fault.env.tools!.try_it;

beforeAll(async () => {
  // everything that is made once is made before the heap is measured
  const calm = startCalmRollouts(others, new AbortController().signal);
  await calm.underWay;
  expect(await calm.finish()).toBe(0);
  collectGarbage();
  heapBefore = process.memoryUsage().heapUsed;
  resourcesBefore = await quietResources();
});

afterAll(() => {
  if (process.env.LUDUS_WRITE_DOCS !== "1" || rows.length < faults.length) return;
  writeFileSync(page, faultPage(rows, others) + partsOf(readFileSync(page, "utf8")).rest);
});

describe("while others are in flight", () => {
  test.each(faults.map((fault): [string, Fault] => [`${fault.where}: ${fault.name}`, fault]))(
    "%s",
    async (_, fault) => {
      const [all, own] = [new AbortController(), new AbortController()];
      const calm = startCalmRollouts(others, all.signal);
      await calm.underWay;
      const cancel = fault.cancelAfterMs === undefined ? undefined : setTimeout(() => own.abort(), fault.cancelAfterMs);
      const { stop, timing, trajectories, failure } = await inject(fault, own.signal);
      clearTimeout(cancel);
      await toolOf(fault).isolated?.close();
      const disturbed = await calm.finish();
      rows.push({ fault, stop, afterMs: timing.totalMs, disturbed });

      expect({ stop, disturbed }, failure).toEqual({ stop: fault.stop, disturbed: 0 });
      if (stop === "completed") expect(trajectories[0].score.total).toBe(1);
      if (fault.outcome !== undefined)
        expect(trajectories[0].turns[0].calls).toMatchObject([{ outcome: fault.outcome }]);
      expect(timing.totalMs).toBeLessThan(faultLimits.episodeMs);
      expect(toolOf(fault).isolated ?? { stats: { live: 0 } }).toMatchObject({ stats: { live: 0 } });
      for (const { signal } of [all, own]) expect(getEventListeners(signal, "abort")).toEqual([]);
      await eventually(() => expect(leftBehind(resourcesBefore)).toEqual([]));
    },
  );
});

test("no memory stays behind", () => {
  collectGarbage();
  expect((process.memoryUsage().heapUsed - heapBefore) / 2 ** 20).toBeLessThan(16);
});

test.skipIf(process.env.LUDUS_WRITE_DOCS === "1")("the documented table is what was measured", () => {
  expect(withoutTimes(partsOf(readFileSync(page, "utf8")).own)).toBe(withoutTimes(faultPage(rows, others)));
});
