import { z } from "zod";
import { parseWith } from "../schema/parse-with.ts";
import type { Task } from "../schema/task.ts";
import type { Policy } from "./rollout.ts";

const TaskWeights = z.record(z.string(), z.string());

/** The policy as it speaks in attempts at a task: `annotations.weights` of the task says which weights roles speak with instead of their own. */
export function policyAt(task: Task, policy: Policy): Policy {
  const given = task.annotations?.weights;
  if (given === undefined) return policy;
  const weights = parseWith(TaskWeights, given, `annotations.weights of task ${task.id}`, "bad-annotation");
  return { ...policy, weights: { ...policy.weights, ...weights } };
}
