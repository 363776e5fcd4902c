import { policyWeights } from "../engine/engine.ts";
import type { Policy } from "../rollout/rollout.ts";
import type { Algorithm } from "./algorithm.ts";
import type { LearningPolicy } from "./learning-policy.ts";

/** Frozen weights that divergence from these is measured from. */
export function referenceOf(weights: string): string {
  return weights === policyWeights ? "reference" : `reference/${weights}`;
}

/** The separate critic of these weights. */
export function criticOf(weights: string): string {
  return weights === policyWeights ? "critic" : `critic/${weights}`;
}

/** The weights that a role speaks with. */
export function weightsOf({ weights }: Pick<Policy, "weights">, role: string): string {
  return weights?.[role] ?? policyWeights;
}

/** Weights that roles speak with and that are not there yet start as copies of the policy. */
export async function makeWeights({ engine, weights = {} }: LearningPolicy): Promise<void> {
  for (const name of new Set(Object.values(weights))) {
    if (!engine.info.weights.includes(name)) await engine.snapshot(name, { trainable: true });
  }
}

/** Whether divergence from frozen weights is measured: not where its coefficient is 0 for good. */
export function needsReference({ loss, klInReward }: Pick<Algorithm, "loss" | "klInReward">): boolean {
  const isOff = klInReward === undefined || (klInReward.isFixed === true && klInReward.initial === 0);
  return loss.needs.reference === true || !isOff;
}

/** Before learning from experience: the weights as they are now, to measure divergence from; and a critic's beginning. */
export async function copyWeights(
  { engine }: LearningPolicy,
  algorithm: Pick<Algorithm, "loss" | "klInReward" | "critic">,
  learners: readonly string[],
  /** Critics that came with the weights go on learning. */
  keepCritics: boolean,
): Promise<void> {
  const { critic } = algorithm;
  const hasReference = needsReference(algorithm);
  for (const from of learners) {
    if (hasReference) await engine.snapshot(referenceOf(from), { from });
    const isThere = keepCritics && engine.info.weights.includes(criticOf(from));
    if (critic?.kind === "separate" && !isThere) await engine.snapshot(criticOf(from), { from, trainable: true });
  }
}
