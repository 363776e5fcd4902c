import type { Env } from "../env/env.ts";
import type { Task } from "../schema/task.ts";
import type { Policy, RenderContext, Rollout, RolloutOptions } from "./rollout.ts";

/**
 * A world that makes attempts itself, because somebody else holds the loop: an agent that exists already, and asks the policy
 * when it wants to. Whatever takes an environment takes such a one; nothing starts an episode in it.
 */
export interface SelfRunEnv<Data = unknown, State = unknown> extends Env<Data, State> {
  /** Never throws for what happens in an attempt: that is the rollout's stop reason. */
  attempt(task: Task<Data>, policy: Policy, options: RolloutOptions): Promise<Rollout<Data>>;
  /** The same with its expert in place of the policy. */
  demonstrate(
    task: Task<Data>,
    renderContext: RenderContext,
    options: RolloutOptions & { noise?: number },
  ): Promise<Rollout<Data>>;
}

export function runsItself<Data, State>(env: Env<Data, State>): env is SelfRunEnv<Data, State> {
  return "attempt" in env && "demonstrate" in env;
}
