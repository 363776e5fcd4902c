import type { Task } from "../../schema/task.ts";
import type { StepContext } from "./stage-context.ts";

/** A task that was picked and is not observed yet. */
export interface Lease<Data = unknown> {
  readonly id: string;
  readonly task: Task<Data>;
}

/** Asks the guide for the next tasks. */
export async function pick<Data>({ guide }: StepContext<Data>, count: number): Promise<readonly Lease<Data>[]> {
  return (await guide.pick(count)).map((task) => ({ id: task.id, task }));
}
