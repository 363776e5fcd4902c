import { z } from "zod";
import { Real } from "./json-real.ts";
import { isJsonObject } from "./parse-with.ts";
import { infrastructureStops, policyStops } from "./stop-reason.ts";
import type { Trajectory } from "./trajectory.ts";

// not z.record: it drops a key named __proto__, which a model may well write
const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, "an object");
const facts = z.custom<Record<string, number | string | boolean>>(
  (value) =>
    isJsonObject(value) && Object.values(value).every((fact) => ["number", "string", "boolean"].includes(typeof fact)),
  "an object of numbers, strings and booleans",
);

const Turn = z.object({
  span: z.object({ start: z.int().min(0), end: z.int().min(0) }),
  text: z.string(),
  calls: z.array(
    z.object({
      name: z.string(),
      arguments: jsonObject,
      outcome: z.enum(["ok", "error", "malformed", "unknown-tool", "bad-arguments"]),
      observation: z.string(),
    }),
  ),
  reward: Real,
  observation: z.string(),
  stateKey: z.string().exactOptional(),
  info: facts.exactOptional(),
});

/** A trajectory without what it has per token. */
export const TrajectoryFields = z.object({
  id: z.string(),
  rollout: z.string(),
  taskId: z.string(),
  role: z.string(),
  weights: z.string(),
  weight: z.number(),
  turns: z.array(Turn),
  score: z.object({ total: Real, parts: z.record(z.string(), Real), success: z.boolean() }),
  stop: z.enum([...policyStops, ...infrastructureStops]),
  failure: z.string().exactOptional(),
  temperature: Real,
  domain: z.string().exactOptional(),
  guidance: z
    .object({
      kind: z.string(),
      text: z.string(),
      prompt_P: z.array(z.int32()).transform((tokens) => Int32Array.from(tokens)),
    })
    .exactOptional(),
});

/** The same field as JSON holds it. */
export function guidanceToJson({ guidance }: Pick<Trajectory, "guidance">) {
  return guidance === undefined ? {} : { guidance: { ...guidance, prompt_P: Array.from(guidance.prompt_P) } };
}
