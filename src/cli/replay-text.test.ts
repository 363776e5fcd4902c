import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { annotated, fakeTask, fakeTrajectory } from "../schema/fake-trajectory.ts";
import type { TrajectorySummary } from "../store/index.ts";
import { replayParts } from "./replay-text.ts";

test("a hint is told before what was read, and cannot take over a terminal", () => {
  const hint = { kind: "plan", text: "look\u001b[2J first", prompt_P: Int32Array.of(1) };
  const trajectory = annotated(fakeTrajectory(createRng(1)), { hint });
  const { id, rollout, taskId, role, stop, weight } = trajectory;
  const summary: TrajectorySummary = {
    id,
    rollout,
    taskId,
    role,
    stop,
    weight,
    key: 7,
    group: 0,
    step: 2,
    split: "train",
    reward: 0,
    success: false,
    turns: 0,
    tokens: 0,
    tools: [],
    annotations: { hint: "plan" },
  };
  const stored = { summary, task: fakeTask(createRng(2), "task-0"), trajectory };
  const view = { run: "runs/first", tokens: false, paint: (_: string, text: string) => text };
  const [head] = replayParts(stored, undefined, view);
  expect(head).toContain("\nhint (plan): look\\u001b[2J first\n[");
  const plain = { ...trajectory, turns: [] };
  expect(replayParts({ ...stored, trajectory: plain }, undefined, view)[0]).not.toContain("hint");
});
