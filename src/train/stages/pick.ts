import type { Lease } from "../../guide/guide.ts";
import type { StepContext } from "./stage-context.ts";

/** Asks the guide for the next tasks. Each lease is under way until the guide has observed its group. */
export function pick<Data>({ guide }: StepContext<Data>, count: number): Promise<readonly Lease<Data>[]> {
  return guide.pick(count);
}
