import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { fakeTask, fakeTrajectory } from "./fake-trajectory.ts";
import { learnable, makeTrajectoryGroup } from "./trajectory-group.ts";

const rng = createRng(1);
const task = fakeTask(rng, "task-0");

test("trajectories of one task, whose rollouts weigh one, are a group", () => {
  const trajectories = [
    fakeTrajectory(rng, { rollout: "a", weight: 0.25 }),
    fakeTrajectory(rng, { rollout: "a", weight: 0.75 }),
    fakeTrajectory(rng, { rollout: "b", role: "left" }),
    fakeTrajectory(rng, { rollout: "b", role: "right" }),
  ];
  expect(makeTrajectoryGroup(task, trajectories)).toEqual({ task, trajectories });
});

test("a trajectory of another task is named", () => {
  const foreign = fakeTrajectory(rng, { id: "stray", taskId: "task-1" });
  expect(() => makeTrajectoryGroup(task, [fakeTrajectory(rng), foreign])).toThrow(
    "got trajectory stray of task task-1, expected trajectories of task task-0 alone",
  );
});

test.each([0.5, 0.999])("a rollout that weighs %d is named", (weight) => {
  expect(() => makeTrajectoryGroup(task, [fakeTrajectory(rng, { rollout: "a", weight })])).toThrow(
    `got weight ${weight} of rollout a as agent`,
  );
});

test("a rollout that weighs two is named", () => {
  const twice = [fakeTrajectory(rng, { rollout: "a" }), fakeTrajectory(rng, { rollout: "a" })];
  expect(() => makeTrajectoryGroup(task, twice)).toThrow("got weight 2 of rollout a as agent");
});

test("what ended through the infrastructure's fault is not learned from", () => {
  const good = fakeTrajectory(rng, { stop: "max-turns" });
  const failed = fakeTrajectory(rng, { stop: "tool-crash" });
  expect(learnable(makeTrajectoryGroup(task, [failed, good]))).toEqual([good]);
});
