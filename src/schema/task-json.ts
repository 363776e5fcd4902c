import { z } from "zod";
import { taskAnnotationsFromJson } from "./annotations.ts";
import { currentTaskForm } from "./earlier-forms.ts";
import { Real } from "./json-real.ts";
import { parseWith } from "./parse-with.ts";
import type { Task } from "./task.ts";

const TaskFields = z.object({
  id: z.string(),
  seed: z.number(),
  data: z.unknown().optional(),
  domain: z.string().exactOptional(),
  difficulty: Real.exactOptional(),
  parent: z.string().exactOptional(),
  annotations: taskAnnotationsFromJson.exactOptional(),
});

/** Reads a task that JSON held. What `data` holds is for its environment to check. */
export function taskFromJson(value: unknown): Task {
  const { data, ...fields } = parseWith(TaskFields, currentTaskForm(value), "a task", "bad-task");
  return { ...fields, data };
}
