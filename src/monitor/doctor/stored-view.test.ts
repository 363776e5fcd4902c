import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { metric } from "../../schema/metric-names.ts";
import { memoryRuns } from "../../store/index.ts";
import { storedView } from "./stored-view.ts";

test("a stored run's series, configuration and a sample of whole steps, the last ones always among them", async () => {
  const rng = createRng(1);
  const store = await memoryRuns().openForWriting("run", { now: () => 0 });
  await store.append(0, { config: { algorithm: { groupSize: 2 } }, metrics: { "imitation/nll": 1 } });
  for (let step = 1; step <= 40; step++) {
    const groups = [0, 1, 2].map((group) => {
      const task = { id: `task-${step}-${group}`, seed: 0, data: {} };
      const trajectories = [0, 1].map((i) => fakeTrajectory(rng, { taskId: task.id, rollout: `${group}/${i}` }));
      return { group: { task, trajectories }, split: "train" };
    });
    const heldOut = { group: { task: { id: "held-out", seed: 0, data: {} }, trajectories: [] }, split: "eval" };
    await store.append(step, { metrics: { [metric.reward]: step / 40 }, groups: [...groups, heldOut] });
  }
  await store.append(40, { events: [{ type: "run-end", reason: "finished" }] });

  const view = await storedView(store, { sampledSteps: 8, steps: [3] });
  expect(view.series(metric.reward)).toHaveLength(40);
  expect(view.series("no/such-metric")).toEqual([]);
  expect(view.config).toEqual({ algorithm: { groupSize: 2 } });
  expect(view.events).toEqual([{ type: "run-end", reason: "finished" }]);
  const steps = Map.groupBy(view.groups, ({ step }) => step);
  expect([...steps.keys()]).toEqual([1, 3, 6, 11, 16, 21, 26, 31, 36, 37, 38, 39, 40]);
  expect([...steps.values()].every((groups) => groups.length === 3)).toBe(true);

  const few = await storedView(store, { maxTrajectories: 12, steps: [3] });
  expect([...new Set(few.groups.map(({ step }) => step))]).toEqual([3, 40]);
  await store.close();
});
