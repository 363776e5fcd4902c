import { isDeepStrictEqual } from "node:util";
import { errorText } from "../../errors.ts";
import type { Task } from "../../schema/task.ts";
import type { TaskSource } from "../../task/task-source.ts";
import { firstDifference, show } from "./differences.ts";
import type { Findings } from "./findings.ts";

/** The first tasks of every split, each asked for twice. */
export async function checkTasks(source: TaskSource, count: number, findings: Findings): Promise<Task[]> {
  const tasks: Task[] = [];
  for (const split of ["train", "test"]) {
    if (!source.splits.includes(split))
      findings.add("no-tasks", `there is no split "${split}": ${show(source.splits)}`, split);
  }
  for (const split of source.splits) {
    try {
      for (let index = 0; index < Math.min(count, source.size(split)); index++) {
        const task = await source.at(split, index);
        const before = { ...task, data: copyOf(task.data) };
        const change = firstDifference(before, await source.at(split, index));
        if (change !== undefined)
          findings.add("tasks-change", `task ${index} of "${split}", asked for twice: ${change}`);
        tasks.push(before);
      }
    } catch (error) {
      findings.add("no-tasks", `"${split}": ${errorText(error)}`, split);
    }
  }
  if (!findings.has("no-tasks")) await checkSplits(source, findings);
  return tasks;
}

/** How many tasks of each split are compared. */
const compared = 48;

async function checkSplits(source: TaskSource, findings: Findings): Promise<void> {
  const [train, test] = [await keysOf(source, "train"), await keysOf(source, "test")];
  const shared = [...test].filter((key) => train.has(key));
  if (shared.length === 0) return;
  const share = Math.round((100 * shared.length) / test.size);
  const message = `${share} % of ${test.size} different tasks of "test" are among the first of "train", such as ${show(shared[0])}`;
  findings.add("splits-overlap", message);
}

async function keysOf(source: TaskSource, split: string): Promise<Set<string>> {
  const keys = new Set<string>();
  for (let index = 0; index < Math.min(compared, source.size(split)); index++) {
    keys.add(JSON.stringify((await source.at(split, index)).data) ?? "");
  }
  return keys;
}

/** A copy for one episode, so that one that changes its task does not disturb the next; itself where it cannot be copied. */
export function copyOf(data: unknown): unknown {
  try {
    const copy = structuredClone(data);
    return isDeepStrictEqual(copy, data) ? copy : data;
  } catch {
    return data;
  }
}
