import { expect, test } from "vitest";
import { fromLosslessJson, toLosslessJson } from "./lossless-json.ts";
import type { RunEvent } from "./run-event.ts";
import { runEventFromJson } from "./run-event-json.ts";

const events: RunEvent[] = [
  { type: "run-start", name: "first" },
  { type: "run-start", name: "again", resumedAtStep: 4 },
  { type: "phase-start", phase: "warm-start", steps: 10 },
  { type: "step-end", step: 3, metrics: { "loss/total": Number.NaN, "reward/mean": 1 } },
  { type: "eval-end", step: 3, metrics: {} },
  { type: "checkpoint-saved", step: 3, directory: "checkpoints/3" },
  { type: "finding", step: 3, code: "echo-trap", message: "Rewards no longer differ." },
  { type: "warning", message: "slow" },
  { type: "run-end", reason: "time-budget" },
];

test.each(events)("$type comes back", (event) => {
  expect(runEventFromJson(fromLosslessJson(toLosslessJson(event)))).toEqual(event);
});

test("what is no event is named", () => {
  expect(() => runEventFromJson({ type: "run-end", reason: "bored" })).toThrow('an event with reason = "bored"');
  expect(() => runEventFromJson({ type: "lunch" })).toThrow('bad-event: got an event with type = "lunch"');
});
