import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { denseGae } from "./dense-gae.ts";
import { fillSampled, zerosLike } from "./spread.ts";
import { meanOf, stdOf } from "./statistics.ts";
import { rewardsOf, stepsOf } from "./steps.ts";

export interface StepGaeOptions {
  /** Both per turn. */
  readonly gamma: number;
  readonly lambda: number;
  /** Over all turns of the batch, each counting once however long it is. */
  readonly whiten: boolean;
}

const defaults: StepGaeOptions = { gamma: 1, lambda: 1, whiten: true };

const known: KnownOptions<StepGaeOptions> = { gamma: true, lambda: true, whiten: true };

/**
 * Agent-R1's GAE over turns: a turn is one action, its value that at its first sampled token, and all its sampled tokens
 * share its advantage. Runs through all rows of a rollout.
 */
export function stepGae(options: Partial<StepGaeOptions> = {}): Credit {
  refuseUnknownOptions("stepGae", options, known);
  const { gamma, lambda, whiten } = { ...defaults, ...options };
  const needs = { values: true };
  return {
    name: "step-gae",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const advantages_B_T = zerosLike(rows);
      const returns_B_T = zerosLike(rows);
      const runs = groups.flat().map((attempt) => {
        const steps = stepsOf(rows, attempt);
        const values_K = Float64Array.from(steps, ({ row, start }) => rows[row].values_T![start]);
        const advantages_K = denseGae({ rewards_T: rewardsOf(steps), values_T: values_K, gamma, lambda });
        return { steps, values_K, advantages_K };
      });
      const normalise = whiten ? whitening(runs.flatMap(({ advantages_K }) => [...advantages_K])) : identity;
      for (const { steps, values_K, advantages_K } of runs) {
        for (const [k, { row, start, end }] of steps.entries()) {
          const { mask_T } = rows[row];
          fillSampled(advantages_B_T[row], mask_T, normalise(advantages_K[k]), start, end);
          fillSampled(returns_B_T[row], mask_T, advantages_K[k] + values_K[k], start, end);
        }
      }
      return creditResult(rows, groups, advantages_B_T, { returns_B_T });
    },
  };
}

const identity = (value: number) => value;

function whitening(values: readonly number[]): (value: number) => number {
  const mean = meanOf(values);
  const variance = values.length > 1 ? stdOf(values) ** 2 : 1;
  return (value) => (value - mean) / Math.sqrt(variance + 1e-8);
}
