import { z } from "zod";
import { FailureFields } from "./failure-json.ts";
import { Real } from "./json-real.ts";
import { parseWith } from "./parse-with.ts";
import type { RunEvent } from "./run-event.ts";

const step = z.number();
const metrics = z.record(z.string(), Real);

const Event = z.discriminatedUnion("type", [
  z.object({ type: z.literal("run-start"), name: z.string(), resumedAtStep: z.number().exactOptional() }),
  z.object({
    type: z.literal("phase-start"),
    phase: z.string(),
    steps: z.number(),
    doneSteps: z.number().exactOptional(),
  }),
  z.object({ type: z.literal("step-end"), step, metrics }),
  z.object({ type: z.literal("eval-end"), step, metrics }),
  z.object({ type: z.literal("checkpoint-saved"), step, directory: z.string() }),
  FailureFields.extend({ type: z.literal("failure"), step, attempts: z.number() }),
  z.object({ type: z.literal("finding"), step, code: z.string(), message: z.string() }),
  z.object({ type: z.literal("warning"), message: z.string() }),
  z.object({
    type: z.literal("run-end"),
    reason: z.enum(["finished", "stopped", "time-budget", "token-budget", "early-stop", "doctor", "failed"]),
    message: z.string().exactOptional(),
  }),
]);

/** Reads an event that JSON held. */
export function runEventFromJson(value: unknown): RunEvent {
  return parseWith(Event, value, "an event", "bad-event");
}
