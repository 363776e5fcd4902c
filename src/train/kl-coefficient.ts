import { metric } from "../schema/metric-names.ts";
import type { Algorithm } from "./algorithm.ts";
import type { Prepared } from "./stages/prepare.ts";

/** The coefficient of the KL penalty in the reward for the next step. */
export function nextKlCoefficient(
  { klInReward }: Algorithm,
  coefficient: number | undefined,
  { rows, metrics }: Prepared,
): number | undefined {
  const divergence = metrics[metric.klReference];
  if (klInReward === undefined || coefficient === undefined || divergence === undefined) return coefficient;
  return klInReward.next(coefficient, divergence, new Set(rows.map(({ rollout }) => rollout)).size);
}
