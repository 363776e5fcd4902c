import { metric } from "../schema/metric-names.ts";
import type { Algorithm } from "./algorithm.ts";
import type { Prepared } from "./stages/prepare.ts";
import type { RunState } from "./stages/record.ts";

/** The state with the coefficient of the KL penalty in the reward for the next step, where the algorithm has such a penalty. */
export function withNextKl(state: RunState, { klInReward }: Algorithm, { rows, metrics }: Prepared): RunState {
  const { klCoefficient } = state;
  const divergence = metrics[metric.klReference];
  if (klInReward === undefined || klCoefficient === undefined || divergence === undefined) return state;
  const rollouts = new Set(rows.map(({ rollout }) => rollout)).size;
  return { ...state, klCoefficient: klInReward.next(klCoefficient, divergence, rollouts) };
}
