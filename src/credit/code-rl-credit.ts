import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { spreadOverAttempts } from "./spread.ts";

/**
 * CodeRL: a program's return less that of the greedy program of the same task, at every token times its weight, which is the critic's probability of
 * the actual outcome after that token (arXiv 2207.01780). Weights are those of the algorithm's `weigh`.
 */
export function codeRlCredit(): Credit {
  const needs = { greedyBaseline: true, weights: true };
  return {
    name: "code-rl",
    needs,
    assign(rows) {
      const groups = groupAttempts(rows, needs);
      const advantages_B_T = spreadOverAttempts(rows, groups, (_, attempts) =>
        attempts.map(({ net, rows: [first] }) => net - rows[first].baseline!),
      ).map((advantages_T, b) => advantages_T.map((advantage, t) => advantage * rows[b].weights_T![t]));
      return creditResult(rows, groups, advantages_B_T);
    },
  };
}
