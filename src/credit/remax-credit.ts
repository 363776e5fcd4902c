import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { spreadOverAttempts } from "./spread.ts";

/** ReMax: a rollout's reward less that of a greedy rollout of the same task. */
export function remaxCredit(): Credit {
  const needs = { greedyBaseline: true };
  return {
    name: "remax",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const advantages_B_T = spreadOverAttempts(rows, groups, (_, attempts) =>
        attempts.map(({ net, rows: [first] }) => net - rows[first].baseline!),
      );
      return creditResult(rows, groups, advantages_B_T);
    },
  };
}
