import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { spreadOverAttempts } from "./spread.ts";
import { isUniform, meanOf } from "./statistics.ts";

/** RLOO: a rollout's reward less the mean of the others of its group. A group of one keeps its reward, as in verl. */
export function leaveOneOut(): Credit {
  return {
    name: "leave-one-out",
    needs: {},
    assign(rows) {
      const groups = groupAttempts(rows);
      return creditResult(rows, groups, spreadOverAttempts(rows, groups, leaveOneOutAdvantages));
    },
  };
}

/** `G / (G - 1) * (r - mean)`, which is `r` less the mean of the others. */
export function leaveOneOutAdvantages(rewards_G: ArrayLike<number>): Float64Array<ArrayBuffer> {
  const G = rewards_G.length;
  if (G === 1) return Float64Array.of(rewards_G[0]);
  const advantages_G = new Float64Array(G);
  if (isUniform(rewards_G)) return advantages_G;
  const mean = meanOf(rewards_G);
  for (let g = 0; g < G; g++) advantages_G[g] = (G / (G - 1)) * (rewards_G[g] - mean);
  return advantages_G;
}
