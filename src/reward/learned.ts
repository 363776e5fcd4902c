import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { makeScore } from "../schema/score.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import { makeReward } from "./make-reward.ts";
import type { Reward, ScoredEpisode } from "./reward.ts";

/** What judges whole attempts, such as what `trainScorer` returns: 0 to 1. */
export interface AttemptScorer {
  score(attempt: { readonly trajectories: readonly Trajectory[] }): number | Promise<number>;
}

/** What judges turn by turn, such as what `trainStepScorer` returns: 0 to 1 each. */
export interface StepScorer {
  steps(attempt: { readonly trajectories: readonly Trajectory[] }): readonly number[] | Promise<readonly number[]>;
}

export interface OutcomeModelOptions {
  /** From which score on the task counts as solved. */
  successAt: number;
}

const knownOutcomeModelOptions: KnownOptions<OutcomeModelOptions> = { successAt: true };

/**
 * An outcome reward model as a reward: `{ ...env, score: outcomeModel(scorer) }`. Success is what the model takes for one; evaluate in the
 * environment itself to know the truth.
 */
export function outcomeModel<Data, State = unknown>(
  scorer: AttemptScorer,
  options: Partial<OutcomeModelOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("outcomeModel", options, knownOutcomeModelOptions);
  const { successAt } = { successAt: 0.5, ...options };
  return makeReward(
    async (episode) => {
      const outcome = checked(await scorer.score({ trajectories: tokensOf("outcomeModel", episode) }));
      return makeScore({ outcome }, outcome >= successAt);
    },
    { range: [0, 1] },
  );
}

export interface ProcessModelOptions extends OutcomeModelOptions {
  /** What the scores of turns come to: the worst of them, as in Math-Shepherd, their product or mean, or the last. */
  aggregate: "min" | "product" | "mean" | "last";
}

const knownProcessModelOptions: KnownOptions<ProcessModelOptions> = { successAt: true, aggregate: true };

/** A process reward model as a reward of the whole attempt. An attempt without turns is worth 0. */
export function processModel<Data, State = unknown>(
  scorer: StepScorer,
  options: Partial<ProcessModelOptions> = {},
): Reward<Data, State> {
  refuseUnknownOptions("processModel", options, knownProcessModelOptions);
  const { successAt, aggregate } = { successAt: 0.5, aggregate: "min" as const, ...options };
  return makeReward(
    async (episode) => {
      const steps = (await scorer.steps({ trajectories: tokensOf("processModel", episode) })).map(checked);
      const outcome = aggregatedSteps(steps, aggregate);
      return makeScore({ outcome }, outcome >= successAt);
    },
    { range: [0, 1] },
  );
}

/** What the scores of an attempt's turns come to; 0 where there are none. */
export function aggregatedSteps(steps: readonly number[], aggregate: ProcessModelOptions["aggregate"]): number {
  if (steps.length === 0) return 0;
  switch (aggregate) {
    case "min":
      return Math.min(...steps);
    case "product":
      return steps.reduce((product, step) => product * step, 1);
    case "mean":
      return steps.reduce((sum, step) => sum + step, 0) / steps.length;
    case "last":
      return steps[steps.length - 1];
    default:
      return aggregate satisfies never;
  }
}

function tokensOf(reward: string, { tokens }: Pick<ScoredEpisode, "tokens">): readonly Trajectory[] {
  if (tokens !== undefined) return tokens();
  throw new LudusError("no-tokens", {
    got: `an episode without tokens for ${reward}`,
    expected: "an attempt of a policy, or a demonstration: a learned reward reads what was sampled",
  });
}

function checked(value: number): number {
  if (value >= 0 && value <= 1) return value;
  throw new LudusError("bad-value", { got: `a score of ${value}`, expected: "0 to 1" });
}
