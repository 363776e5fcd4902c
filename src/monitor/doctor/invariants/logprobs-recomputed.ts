import type { Trajectory } from "../../../schema/trajectory.ts";
import type { RunView } from "../detector.ts";
import { someIds } from "../sample.ts";
import { short } from "../trend.ts";
import type { Proof } from "./invariant.ts";

const code = "logprob-invariant";
const limits = { difference: 1e-3, trajectories: 64 };
const invariant = "log-probabilities recomputed equal those stored";

/** Log-probabilities of a trajectory's tokens under the weights that sampled it; undefined where nobody has those weights. */
export type Recompute = (trajectory: Trajectory) => Promise<Float32Array | undefined>;

export async function logprobsRecomputed(view: RunView, recompute: Recompute | undefined): Promise<Proof> {
  const proof = { invariant, unit: "trajectories", findings: [] };
  // as the other invariants of a run without rollouts: no advice on checkpoints where there is nothing to compare
  if (view.groups.every(({ trajectories }) => trajectories.length === 0)) return { ...proof, checked: 0 };
  if (recompute === undefined) return { ...proof, checked: 0, notChecked: "there is nothing to recompute them with" };
  const compared: { id: string; step: number; difference: number }[] = [];
  for (const { step, trajectories } of view.groups) {
    for (const trajectory of trajectories) {
      if (compared.length >= limits.trajectories) break;
      const logprobs_T = await recompute(trajectory);
      if (logprobs_T === undefined) continue;
      compared.push({ id: trajectory.id, step, difference: largestDifference(trajectory, logprobs_T) });
    }
  }
  const checked = compared.length;
  if (checked === 0)
    return { ...proof, checked, notChecked: "no checkpoint has weights that sampled a stored rollout" };
  const wrong = compared.filter(({ difference }) => !(difference <= limits.difference));
  if (wrong.length === 0) return { ...proof, checked };
  const largest = Math.max(...wrong.map(({ difference }) => difference));
  return {
    ...proof,
    checked,
    findings: [
      {
        code,
        severity: "error",
        step: wrong[0].step,
        message: `In ${wrong.length} of ${checked} trajectories, log-probabilities differ by up to ${short(largest)} from those recomputed with the weights that sampled them.`,
        evidence: { wrong: wrong.length, checked, largestDifference: largest, trajectories: someIds(wrong) },
        remedy:
          "Record the sampling temperature, never re-tokenize sampled text, and check that sampler and trainer " +
          "have the same weights.",
      },
    ],
  };
}

function largestDifference({ mask_T, logprobs_T }: Trajectory, recomputed_T: Float32Array): number {
  let largest = 0;
  for (let t = 0; t < mask_T.length; t++) {
    if (mask_T[t] === 0) continue;
    const difference = Math.abs(logprobs_T[t] - recomputed_T[t]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}
