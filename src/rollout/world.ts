import type { KnownOptions } from "../known-options.ts";
import type { CallFormat } from "../policy/call-format.ts";
import type { Message, ToolSpec } from "../schema/message.ts";
import type { Task } from "../schema/task.ts";
import type { TaskSource } from "../task/task-source.ts";
import type { Limits } from "./limits.ts";
import type { PlayedRollout, Policy, RenderContext, RolloutOptions } from "./rollout.ts";
import type { OpenAttempt } from "./search/open-attempt.ts";

/**
 * What training, evaluation and demonstrations need of an environment: tasks, and attempts at them. `defineEnv` makes a world that is
 * played turn by turn; `agentEnv` makes one of an agent that runs its own loop and calls the policy as a model.
 *
 *     const task = await world.tasks.at("test", 0);
 *     const played = await world.attempt(task, policy, { id: "test/0", seed: 1 });
 *     const { trajectories, stop } = await played.score();
 */
export interface World<Data = unknown> {
  readonly name: string;
  /** One line, for `ludus env list`. */
  readonly description: string;
  readonly tasks: TaskSource<Data>;
  /** Who acts, in worlds of several policies; the first begins. */
  readonly roles: readonly string[];
  readonly limits: Limits;
  /** How the policy writes tool calls and answers. A run may choose another. */
  readonly format: CallFormat;
  /** Whether turns carry a `stateKey`, which credit by state compares (GiGPO). */
  readonly hasStateKeys: boolean;
  /** One attempt of a policy. Never throws for what happens in it: that is the stop reason. */
  attempt(task: Task<Data>, policy: Policy, options: RolloutOptions): Promise<PlayedRollout<Data>>;
  /** An attempt that is taken turn by turn from outside and can be copied, for search. Absent where that is not possible. */
  open?(task: Task<Data>, policy: Policy, options: RolloutOptions): Promise<OpenAttempt<Data>>;
  /** The same with the expert in place of the policy; its words count as sampled. Absent where there is no expert. */
  demonstrate?(
    task: Task<Data>,
    renderContext: RenderContext,
    options: DemonstrateOptions,
  ): Promise<PlayedRollout<Data>>;
  /** What the first role reads before it speaks. Absent where only attempts show it. */
  opening?(task: Task<Data>): Promise<Opening>;
  /** What is read and said in some episodes, one list of texts for each: tokenizers are made from it, contexts are sized by it. */
  sampleTexts(episodes: number, seed: number): Promise<readonly (readonly string[])[]>;
  /**
   * Lets go of what all attempts share: connections, servers, pools. `train` calls it once, when the run has ended, failed or been
   * stopped. An environment that is used again afterwards opens them again.
   */
  release?(): void | Promise<void>;
}

export interface Opening {
  readonly messages: readonly Message[];
  readonly tools: readonly ToolSpec[];
}

export interface DemonstrateOptions extends RolloutOptions {
  /** Probability of a random action in place of the expert's, 0 by default. */
  noise?: number;
}

export const knownDemonstrateOptions: KnownOptions<DemonstrateOptions> = {
  training: true,
  noise: true,
  id: true,
  seed: true,
  signal: true,
  temperature: true,
  topP: true,
  topK: true,
  limits: true,
  format: true,
  sandbox: true,
  context: true,
  epsilonTool: true,
};
