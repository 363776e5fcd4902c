import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { fakeTrajectory } from "../../schema/fake-trajectory.ts";
import { metric } from "../../schema/metric-names.ts";
import { openRun } from "../../store/index.ts";
import { storedView } from "./stored-view.ts";

const directory = mkdtempSync(join(tmpdir(), "ludus-view-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("a stored run's series, configuration and a sample of whole steps, the last ones always among them", async () => {
  const rng = createRng(1);
  const store = await openRun(directory, { now: () => 0 });
  await store.transaction((write) => {
    write.setConfig({ algorithm: { groupSize: 2 } });
    write.recordMetrics(0, { "imitation/nll": 1 });
    for (let step = 1; step <= 40; step++) {
      write.recordMetrics(step, { [metric.reward]: step / 40 });
      for (let group = 0; group < 3; group++) {
        const task = { id: `task-${step}-${group}`, seed: 0, data: {} };
        const trajectories = [0, 1].map((i) => fakeTrajectory(rng, { taskId: task.id, rollout: `${group}/${i}` }));
        write.recordGroup(step, { task, trajectories }, "train");
      }
      write.recordGroup(step, { task: { id: "held-out", seed: 0, data: {} }, trajectories: [] }, "eval");
    }
    write.recordEvent(40, { type: "run-end", reason: "finished" });
  });

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
