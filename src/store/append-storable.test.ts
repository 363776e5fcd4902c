import { expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createRng } from "../random.ts";
import type { Trajectory } from "../schema/index.ts";
import { appendStorable } from "./append-storable.ts";
import { fakeGroup } from "./contract/context.ts";
import { memoryRuns } from "./memory-runs.ts";
import type { RunStore } from "./store.ts";

const rng = createRng(1);
const spoiled = (trajectory: Trajectory): Trajectory => ({ ...trajectory, weight: 2 });

test("what cannot be stored is left out, a group that has nothing else with it", async () => {
  const run = await memoryRuns().openForWriting("first", { now: () => 0 });
  const [whole, half, none] = ["a", "b", "c"].map((id) => fakeGroup(rng, id, 2));
  const groups = [
    whole,
    { ...half, trajectories: [spoiled(half.trajectories[0]), half.trajectories[1]] },
    { ...none, trajectories: none.trajectories.map(spoiled) },
  ];
  const warning = await appendStorable(run, 3, {
    metrics: { loss: 1 },
    groups: groups.map((group) => ({ group, split: "train" })),
    events: [{ type: "step-end", step: 3, metrics: {} }],
  });
  expect(warning).toMatchObject({ message: expect.stringMatching(/^step 3: 3 trajectories .*weight 2/) });
  expect((await run.trajectories({}, { order: "oldest" })).trajectories.map(({ id }) => id)).toEqual([
    ...whole.trajectories.map(({ id }) => id),
    half.trajectories[1].id,
  ]);
  expect((await run.events()).map(({ event }) => event)).toEqual([{ type: "step-end", step: 3, metrics: {} }, warning]);
});

test("a store that fails for a reason of its own is still an error", async () => {
  const full = new LudusError("store-full", { got: "a full disk", expected: "room" });
  const store = { append: () => Promise.reject(full) } as Partial<RunStore> as RunStore;
  const groups = [{ group: fakeGroup(rng, "a", 2), split: "train" }];
  await expect(appendStorable(store, 0, { groups })).rejects.toBe(full);
});
