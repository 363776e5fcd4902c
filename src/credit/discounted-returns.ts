import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { fillSampled, zerosLike } from "./spread.ts";
import { rewardsOf, stepsOf } from "./steps.ts";

export interface DiscountedReturnsOptions {
  /** Per turn, not per token. */
  readonly gamma: number;
  /** `values` subtracts the value of the state each turn began in. */
  readonly baseline: "none" | "values";
}

const defaults: DiscountedReturnsOptions = { gamma: 0.99, baseline: "none" };

/** REINFORCE by turns: a turn's sampled tokens get its discounted return, less its value if there is one. */
export function discountedReturns(options: Partial<DiscountedReturnsOptions> = {}): Credit {
  const { gamma, baseline } = { ...defaults, ...options };
  const hasValues = baseline === "values";
  const needs = { values: hasValues };
  return {
    name: "discounted-returns",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const advantages_B_T = zerosLike(rows);
      const returns_B_T = hasValues ? zerosLike(rows) : undefined;
      for (const attempt of groups.flat()) {
        const steps = stepsOf(rows, attempt);
        const returns_K = returnsToGo(rewardsOf(steps), gamma);
        for (const [k, { row, start, end }] of steps.entries()) {
          const { mask_T, values_T } = rows[row];
          const value = hasValues ? values_T![start] : 0;
          fillSampled(advantages_B_T[row], mask_T, returns_K[k] - value, start, end);
          if (returns_B_T !== undefined) fillSampled(returns_B_T[row], mask_T, returns_K[k], start, end);
        }
      }
      return creditResult(rows, groups, advantages_B_T, returns_B_T === undefined ? {} : { returns_B_T });
    },
  };
}
