import { shareOf } from "./aggregation.ts";
import { sigmoid, softplus } from "./logistic.ts";
import type { Loss, LossRow } from "./loss.ts";
import { lastMasked, present } from "./tokens.ts";
import { zerosOf } from "./zeros.ts";

/**
 * Cross-entropy of σ(value) at a row's last sampled token against `returns_T` there, 0 to 1; mean over rollouts. A value is of
 * the state before its token, and that token usually only ends the turn.
 */
export function outcomeRewardModel(): Loss {
  return classifier("outcome-reward-model", (row, totals, judge) => {
    const end = lastMasked(row.mask_T);
    if (end >= 0) judge(end, shareOf(row, totals));
  });
}

/** The same at the last sampled token of each turn; mean over turns. Step labels (Math-Shepherd) are in `returns_T`. */
export function processRewardModel(): Loss {
  return classifier("process-reward-model", (row, totals, judge) => {
    for (const { start, end } of row.turns) {
      const last = lastMasked(row.mask_T, start, end);
      if (last >= 0) judge(last, 1 / totals.turns);
    }
  });
}

type Judge = (t: number, coefficient: number) => void;

function classifier(
  name: string,
  visit: (row: LossRow, totals: Parameters<Loss["compute"]>[1], judge: Judge) => void,
): Loss {
  return {
    name,
    needs: { values: true },
    compute(rows, totals) {
      let loss = 0;
      let accuracy = 0;
      const values_B_T = rows.map((row) => {
        const values_T = present(row.values_T, "values_T", row);
        const returns_T = present(row.returns_T, "returns_T", row);
        const derivatives_T = new Float32Array(values_T.length);
        visit(row, totals, (t, coefficient) => {
          const value = values_T[t];
          const label = returns_T[t];
          loss += coefficient * (softplus(value) - label * value);
          derivatives_T[t] += coefficient * (sigmoid(value) - label);
          if (value > 0 === label > 0.5) accuracy += coefficient;
        });
        return derivatives_T;
      });
      return {
        loss,
        derivatives: { logprobs_B_T: zerosOf(rows), values_B_T },
        metrics: { "reward-model/accuracy": accuracy },
      };
    },
  };
}
