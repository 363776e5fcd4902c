import type { Trajectory } from "../../../schema/trajectory.ts";
import { someIds } from "../sample.ts";
import { settingsOf } from "../settings.ts";
import type { Invariant } from "./invariant.ts";

const code = "mask-invariant";

/**
 * The mask is 1 exactly where the policy sampled: within its turns, with a log-probability and a version, and at every token
 * of a turn unless calls are forced now and then.
 */
export const maskCoversSampled: Invariant = {
  name: "the mask covers exactly the sampled tokens",
  prove(view) {
    const mayForce = settingsOf(view).epsilonTool > 0;
    const wrong: { id: string; step: number; what: string }[] = [];
    let checked = 0;
    for (const { step, trajectories } of view.groups) {
      for (const trajectory of trajectories) {
        checked++;
        const what = wrongToken(trajectory, mayForce);
        if (what !== undefined) wrong.push({ id: trajectory.id, step, what });
      }
    }
    const proof = { invariant: this.name, checked, unit: "trajectories" };
    const first = wrong[0];
    if (first === undefined) return { ...proof, findings: [] };
    return {
      ...proof,
      findings: [
        {
          code,
          severity: "error",
          step: wrong[0].step,
          message: `In ${wrong.length} of ${checked} trajectories the mask does not match the sampled tokens: ${first.what} in ${first.id}.`,
          evidence: { wrong: wrong.length, checked, trajectories: someIds(wrong) },
          remedy:
            "Make trajectories with makeTrajectory from the tokens that the engine returned; never re-tokenize sampled text.",
        },
      ],
    };
  },
};

function wrongToken({ mask_T, logprobs_T, versions_T, turns }: Trajectory, mayForce: boolean): string | undefined {
  const isInTurn = new Uint8Array(mask_T.length);
  for (const { span } of turns) isInTurn.fill(1, span.start, span.end);
  // of a context that was cut, earlier turns are read again: their tokens are in no turn of this trajectory
  for (let t = 0; t < mask_T.length; t++) {
    const isSampled = mask_T[t] === 1;
    if (isSampled && isInTurn[t] === 0) return `token ${t} counts as sampled outside of every turn`;
    if (isSampled && (versions_T[t] < 0 || logprobs_T[t] > 1e-4)) return `token ${t} was sampled by no version`;
    if (!isSampled && (versions_T[t] !== -1 || logprobs_T[t] !== 0)) return `token ${t} was sampled but does not count`;
    if (!isSampled && isInTurn[t] === 1 && !mayForce) return `token ${t} of a turn does not count as sampled`;
  }
  return undefined;
}
