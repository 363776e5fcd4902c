import type { Invariant } from "./invariant.ts";

const code = "weight-invariant";
const tolerance = 1e-6;

/** However often its context was cut, a rollout counts once. */
export const rolloutWeighsOne: Invariant = {
  name: "rows of one rollout weigh one",
  prove(view) {
    const wrong: { rollout: string; weight: number; step: number }[] = [];
    let checked = 0;
    for (const { step, trajectories } of view.groups) {
      const rollouts = Map.groupBy(trajectories, ({ rollout, role }) => `${rollout} as ${role}`);
      for (const [rollout, rows] of rollouts) {
        checked++;
        const weight = rows.reduce((total, row) => total + row.weight, 0);
        if (Math.abs(weight - 1) > tolerance) wrong.push({ rollout, weight, step });
      }
    }
    const proof = { invariant: this.name, checked, unit: "rollouts" };
    const first = wrong[0];
    if (first === undefined) return { ...proof, findings: [] };
    return {
      ...proof,
      findings: [
        {
          code,
          severity: "error",
          step: wrong[0].step,
          message: `${wrong.length} of ${checked} rollouts do not have a total weight of 1: ${first.rollout} has ${first.weight}.`,
          evidence: { wrong: wrong.length, checked, rollouts: wrong.slice(0, 3).map(({ rollout }) => rollout) },
          remedy:
            "Give the trajectories of a rollout weights that sum to 1, such as their shares of its sampled tokens.",
        },
      ],
    };
  },
};
