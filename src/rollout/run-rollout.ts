import { LudusError } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";
import type { Task } from "../schema/task.ts";
import { knownLimits } from "./limits.ts";
import { knownRolloutOptions, type Policy, type RenderContext, type Rollout, type RolloutOptions } from "./rollout.ts";
import { policyAt } from "./task-weights.ts";
import { type DemonstrateOptions, knownDemonstrateOptions, type World } from "./world.ts";

/** One attempt of a policy at a task, played and scored. Never throws for what happens in it: that is its stop reason. */
export async function runRollout<Data>(
  world: World<Data>,
  task: Task<Data>,
  policy: Policy,
  options: RolloutOptions,
): Promise<Rollout<Data>> {
  refuseUnknownOptions("runRollout", options, knownRolloutOptions);
  refuseUnknownOptions("limits of runRollout", options.limits, knownLimits);
  return (await world.attempt(task, policyAt(task, policy), options)).score();
}

/** An attempt by the environment's expert; its words count as sampled, so that a policy can be trained to say them. */
export async function demonstrate<Data>(
  world: World<Data>,
  task: Task<Data>,
  renderContext: RenderContext,
  options: DemonstrateOptions,
): Promise<Rollout<Data>> {
  refuseUnknownOptions("demonstrate", options, knownDemonstrateOptions);
  refuseUnknownOptions("limits of demonstrate", options.limits, knownLimits);
  if (world.demonstrate === undefined) {
    throw new LudusError("no-demonstrations", {
      got: `${world.name}, which has no expert`,
      expected: "an environment with `expert`, to imitate",
    });
  }
  return (await world.demonstrate(task, renderContext, options)).score();
}
