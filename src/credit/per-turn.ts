import { groupAttempts } from "./attempts.ts";
import type { Credit } from "./credit.ts";
import { creditResult } from "./credit-result.ts";
import { type RelativeOptions, relativeAdvantages } from "./relative-advantages.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { fillSampled, zerosLike } from "./spread.ts";
import { rewardsOf, type Step, stepsOf } from "./steps.ts";

export interface PerTurnOptions extends Pick<RelativeOptions, "std" | "scale" | "epsilon" | "stdFloor"> {
  readonly gamma: number;
  /** Whose returns a turn's is compared with: turns of the same number in its group, all of its group, or all of the batch. */
  readonly peers: "turn-number" | "group" | "batch";
}

const defaults: PerTurnOptions = {
  gamma: 1,
  peers: "turn-number",
  std: "bessel",
  scale: "std",
  epsilon: 1e-6,
  stdFloor: 0,
};

/**
 * Each turn's own discounted return against that of its peers. In the manner of MT-GRPO, which has two turns and one reward
 * each; returns and the choice of peers are ours. A turn without peers gets 0.
 */
export function perTurn(options: Partial<PerTurnOptions> = {}): Credit {
  const { gamma, peers, ...relative } = { ...defaults, ...options };
  return {
    name: "per-turn",
    needs: {},
    assign(rows) {
      const groups = groupAttempts(rows);
      const compared = new Map<string, { step: Step; following: number }[]>();
      for (const [number, attempts] of groups.entries()) {
        for (const attempt of attempts) {
          const steps = stepsOf(rows, attempt);
          const returns_K = returnsToGo(rewardsOf(steps), gamma);
          for (const [k, step] of steps.entries()) {
            const key = { "turn-number": `${number}:${k}`, group: `${number}`, batch: "" }[peers];
            const turn = { step, following: returns_K[k] };
            const others = compared.get(key);
            if (others === undefined) compared.set(key, [turn]);
            else others.push(turn);
          }
        }
      }
      const advantages_B_T = zerosLike(rows);
      for (const turns of compared.values()) {
        const following = turns.map((turn) => turn.following);
        const advantages_N = relativeAdvantages(following, { ...relative, singleton: "zero" });
        for (const [n, { step }] of turns.entries()) {
          fillSampled(advantages_B_T[step.row], rows[step.row].mask_T, advantages_N[n], step.start, step.end);
        }
      }
      return creditResult(rows, groups, advantages_B_T);
    },
  };
}
