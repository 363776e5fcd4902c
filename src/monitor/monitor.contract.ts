import { afterEach, describe, expect, test } from "vitest";
import { LudusError } from "../errors.ts";
import { createRng } from "../random.ts";
import { fakeTask, fakeTrajectory } from "../schema/fake-trajectory.ts";
import type { RunEvent } from "../schema/run-event.ts";
import type { FinishedRollout, Monitor } from "./monitor.ts";

const metrics = (value: number) => ({ "rollout/reward": value, "rollout/success": value, "update/loss": value });
const step = (index: number, value: number): RunEvent => ({ type: "step-end", step: index, metrics: metrics(value) });

/** One event of every kind, in the order of a run. */
const wholeRun: readonly RunEvent[] = [
  { type: "run-start", name: "run" },
  { type: "phase-start", phase: "grpo", steps: 2 },
  step(0, 0.5),
  { type: "eval-end", step: 0, metrics: { "eval/success": 0.5, "eval/reward": 0.5 } },
  { type: "checkpoint-saved", step: 0, directory: "checkpoints/step-000000" },
  { type: "finding", step: 0, code: "echo-trap", message: "Attempts are alike." },
  { type: "warning", message: "Something is odd." },
  step(1, 0.75),
  { type: "run-end", reason: "finished" },
];

const unusual: Readonly<Record<string, readonly RunEvent[]>> = {
  "numbers that are not finite": [Number.NaN, Infinity, -Infinity, 1e300, -0].map((value, i) => step(i, value)),
  "steps without metrics": [{ type: "step-end", step: 0, metrics: {} }],
  "very long names": [
    { type: "run-start", name: "x".repeat(100_000) },
    { type: "phase-start", phase: "y".repeat(100_000), steps: 1 },
    { type: "step-end", step: 0, metrics: { ["z".repeat(100_000)]: 1 } },
  ],
  "odd names": [
    { type: "run-start", name: "\u001b[2J\u202e\0\n👩‍👧" },
    { type: "step-end", step: 0, metrics: { "": 1, __proto__x: 2, "a b/ü": 3 } },
    { type: "warning", message: "\u001b]0;title\u0007" },
  ],
  "events without a beginning": [step(7, 0.5), { type: "run-end", reason: "failed" }],
  "a resumed run": [
    { type: "run-start", name: "run", resumedAtStep: 41 },
    { type: "phase-start", phase: "grpo", steps: 100, doneSteps: 42 },
    step(42, 0.5),
  ],
  "a step that is told again": [step(3, 0.1), step(3, 0.2), step(2, 0.3)],
  "more steps than were planned": [
    { type: "phase-start", phase: "grpo", steps: 1 },
    ...[0, 1, 2].map((i) => step(i, i)),
  ],
};

const rollout = (fields: Partial<FinishedRollout> = {}): FinishedRollout => ({
  id: "0/0",
  task: fakeTask(createRng(1), "train/0"),
  trajectories: [fakeTrajectory(createRng(2))],
  stop: "completed",
  timing: { totalMs: 5 },
  ...fields,
});

/**
 * What every monitor must do. `make` is called for each test:
 *
 *     monitorContract("jsonlMonitor", () => jsonlMonitor({ file: join(folder, "events.jsonl") }));
 */
export function monitorContract(name: string, make: () => Monitor | Promise<Monitor>): void {
  describe(`${name} is a monitor`, () => {
    const open: Monitor[] = [];
    const opened = async () => {
      const monitor = await make();
      open.push(monitor);
      return monitor;
    };
    afterEach(async () => {
      for (const monitor of open.splice(0)) await monitor.close?.();
    });

    test("with a name for warnings", async () => expect((await opened()).name).toMatch(/^[a-z][\w-]*$/));

    test("that takes every event", async () => {
      const monitor = await opened();
      for (const event of wholeRun) expect(monitor.record(event)).toBeUndefined();
    });

    test.each(Object.entries(unusual))("that takes %s", async (_, events) => {
      const monitor = await opened();
      for (const event of events) monitor.record(event);
    });

    test("that changes nothing in what it is given", async () => {
      const monitor = await opened();
      for (const event of wholeRun) monitor.record(deepFrozen(event));
    });

    test("that takes rollouts, also those that failed", async () => {
      const monitor = await opened();
      monitor.record(wholeRun[0]);
      monitor.recordRollout?.(rollout());
      monitor.recordRollout?.(rollout({ stop: "env-crash", failure: "boom ".repeat(10_000), trajectories: [] }));
    });

    test("of which two can be open at once", async () => {
      const both = [await opened(), await opened()];
      for (const event of wholeRun) for (const monitor of both) monitor.record(event);
    });

    test("that can be closed twice, and then works or says that it is closed", async () => {
      const monitor = await opened();
      await monitor.close?.();
      await monitor.close?.();
      try {
        monitor.record(step(0, 1));
      } catch (error) {
        expect(error).toBeInstanceOf(LudusError);
        expect(error).toMatchObject({ code: "monitor-closed" });
      }
    });
  });
}

function deepFrozen<Value extends object>(value: Value): Value {
  for (const part of Object.values(value)) if (typeof part === "object" && part !== null) deepFrozen(part);
  return Object.freeze(value);
}
