import { z } from "zod";
import { Real } from "./json-real.ts";
import { parseWith } from "./parse-with.ts";
import type { Task } from "./task.ts";

const TaskFields = z.object({
  id: z.string(),
  seed: z.number(),
  data: z.unknown().optional(),
  domain: z.string().exactOptional(),
  guidance: z.object({ kind: z.string(), text: z.string(), failures: z.array(Real).exactOptional() }).exactOptional(),
});

/** Reads a task that JSON held. What `data` holds is for its environment to check. */
export function taskFromJson(value: unknown): Task {
  const { data, ...fields } = parseWith(TaskFields, value, "a task", "bad-task");
  return { ...fields, data };
}
