import { z } from "zod";
import { defined } from "../defined.ts";
import { turnAnnotationsFromJson, turnAnnotationsToJson } from "./annotations.ts";
import { Real } from "./json-real.ts";
import { isJsonObject } from "./parse-with.ts";
import { infrastructureStops, policyStops } from "./stop-reason.ts";
import type { Turn } from "./turn.ts";

// not z.record: it drops a key named __proto__, which a model may well write
const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, "an object");
const facts = z.custom<Record<string, number | string | boolean>>(
  (value) =>
    isJsonObject(value) && Object.values(value).every((fact) => ["number", "string", "boolean"].includes(typeof fact)),
  "an object of numbers, strings and booleans",
);

const TurnFields = z.object({
  span: z.object({ start: z.int().min(0), end: z.int().min(0) }),
  text: z.string(),
  calls: z.array(
    z.object({
      name: z.string(),
      arguments: jsonObject,
      outcome: z.enum(["ok", "error", "malformed", "unknown-tool", "bad-arguments", "denied"]),
      observation: z.string(),
      permission: z
        .object({
          allowed: z.boolean(),
          by: z.enum(["rule", "hook", "person", "default", "fault"]),
          asked: z.boolean(),
          reason: z.string().exactOptional(),
          rewritten: jsonObject.exactOptional(),
        })
        .exactOptional(),
    }),
  ),
  reward: Real,
  observation: z.string(),
  stateKey: z.string().exactOptional(),
  info: facts.exactOptional(),
  annotations: turnAnnotationsFromJson.exactOptional(),
});

/** A trajectory without what it has per token. */
export const TrajectoryFields = z.object({
  id: z.string(),
  rollout: z.string(),
  taskId: z.string(),
  role: z.string(),
  weights: z.string(),
  weight: z.number(),
  turns: z.array(TurnFields),
  score: z.object({ total: Real, parts: z.record(z.string(), Real), success: z.boolean() }),
  stop: z.enum([...policyStops, ...infrastructureStops]),
  failure: z.string().exactOptional(),
  temperature: Real,
  truncation: z.object({ topP: z.number().exactOptional(), topK: z.int().exactOptional() }).exactOptional(),
  domain: z.string().exactOptional(),
});

/** A turn whose annotations JSON can hold. */
export function turnToJson<Fields extends Pick<Turn, "annotations">>({ annotations, ...rest }: Fields) {
  return { ...rest, ...defined({ annotations: annotations && turnAnnotationsToJson(annotations) }) };
}
