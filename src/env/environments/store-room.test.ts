import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { type StoreRoomOptions, storeRoom } from "./store-room.ts";
import { playEpisode } from "./testing/play-episode.ts";

const data = { goods: "hkbq", codes: "7295", wanted: "b" };
const played = (says: readonly string[], options: Partial<StoreRoomOptions> = {}) =>
  playEpisode(storeRoom({ shelves: 4, ...options }), { id: "t", seed: 0, data }, says);
const totals = async (says: readonly string[], options: Partial<StoreRoomOptions> = {}) => {
  const { scores } = await played(says, options);
  return Object.fromEntries(Object.entries(scores).map(([role, { total }]) => [role, total]));
};

test("the planner names a shelf, the worker reads that and the codes", async () => {
  const { heard, scores } = await played(["3", "9"]);
  expect(heard).toEqual(["hkbq>b", "3|7295"]);
  expect(scores.planner.success && scores.worker.success).toBe(true);
});

test("each role is rewarded for its own part, or all for what came of it", async () => {
  // a wrong plan that was carried out, and a right one that was not
  expect(await totals(["2", "2"])).toEqual({ planner: 0, worker: 1 });
  expect(await totals(["3", "7"])).toEqual({ planner: 1, worker: 0 });
  expect(await totals(["2", "2"], { credit: "shared" })).toEqual({ planner: 0, worker: 0 });
  expect(await totals(["3", "9"], { credit: "shared" })).toEqual({ planner: 1, worker: 1 });
  // right by chance: solved, though nobody did their part
  expect(await totals(["1", "9"])).toEqual({ planner: 0, worker: 0 });
  expect((await played(["1", "9"])).scores.planner.success).toBe(true);
});

test("a critic sends the worker back once, and is right where it had to", async () => {
  const options = { hasCritic: true };
  expect(await totals(["3", "7", "again", "9"], options)).toEqual({ planner: 1, worker: 1, critic: 1 });
  expect(await totals(["3", "9", "ok"], options)).toEqual({ planner: 1, worker: 1, critic: 1 });
  expect(await totals(["3", "7", "ok"], options)).toEqual({ planner: 1, worker: 0, critic: 0 });
  const { heard } = await played(["3", "7", "again", "9"], options);
  expect(heard.slice(2)).toEqual(["hkbq>b|7295|7", "again"]);
});

test("sent back without need, the critic was wrong", async () => {
  expect(await totals(["3", "9", "again", "9"], { hasCritic: true })).toEqual({ planner: 1, worker: 1, critic: 0 });
});

test("keeps the promises of environments, in both styles, with and without a critic", async () => {
  for (const style of ["compact", "tags"] as const) {
    for (const hasCritic of [false, true]) {
      const { findings } = await checkEnv(storeRoom({ style, hasCritic }), { tasks: 2, timeoutMs: 10_000 });
      expect(findings.filter(({ isWarning }) => !isWarning)).toEqual([]);
    }
  }
  expect(() => storeRoom({ shelves: 1 })).toThrow();
  expect(() => storeRoom({ credit: "mine" as never })).toThrow(/shared/);
});
