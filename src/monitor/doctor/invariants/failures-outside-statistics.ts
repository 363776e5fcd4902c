import { metric } from "../../../schema/metric-names.ts";
import { isInfrastructureStop } from "../../../schema/stop-reason.ts";
import { sum } from "../../../statistics.ts";
import type { RunView, SampledGroup } from "../detector.ts";
import { rewardsOf, rolloutRewards } from "../sample.ts";
import { short, variance } from "../trend.ts";
import type { Invariant } from "./invariant.ts";

const code = "statistics-invariant";
const tolerance = 1e-4;

/** The recorded reward std of a step is that of its groups without infrastructure failures. */
export const failuresOutsideStatistics: Invariant = {
  name: "infrastructure failures are outside group statistics",
  prove(view) {
    const recorded = new Map(view.series(metric.rewardStd).map(({ step, value }) => [step, value]));
    const steps = [...Map.groupBy(view.groups, ({ step }) => step)].filter(([step]) => recorded.has(step));
    const wrong = steps.flatMap(([step, groups]) => {
      const value = recorded.get(step)!;
      return isDeviation(value, groups, hasLost(view, step)) ? [] : [{ step, value, groups }];
    });
    const proof = { invariant: this.name, checked: steps.length, unit: "steps" };
    const [first] = wrong;
    if (first === undefined) return { ...proof, findings: [] };
    const expected = deviation(first.groups.map(rewardsOf), first.groups.length);
    const withFailures = deviation(
      first.groups.map(({ trajectories }) => rolloutRewards(trajectories)),
      first.groups.length,
    );
    const isByFailures = Math.abs(first.value - withFailures) <= tolerance;
    return {
      ...proof,
      findings: [
        {
          code,
          severity: "error",
          step: first.step,
          message:
            `The reward std of step ${first.step} was recorded as ${short(first.value)}; its stored groups give ${short(expected)}` +
            (isByFailures ? ". The recorded value includes infrastructure failures." : "."),
          evidence: { recorded: first.value, expected, withFailures, steps: wrong.slice(0, 5).map(({ step }) => step) },
          remedy:
            "Exclude rollouts with an infrastructure stop from means, standard deviations and losses: learnable(group).",
        },
      ],
    };
  },
};

function isDeviation(value: number, groups: readonly SampledGroup[], mayBeIncomplete: boolean): boolean {
  const rewards = groups.map(rewardsOf);
  // a group whose every attempt broke before a word was said left no trajectory: it counts, with a deviation of 0
  const most = mayBeIncomplete ? 4 * groups.length : groups.length;
  for (let count = groups.length; count <= most; count++) {
    if (Math.abs(value - deviation(rewards, count)) <= tolerance * Math.max(1, Math.abs(value))) return true;
  }
  return false;
}

function deviation(rewards_P_G: readonly (readonly number[])[], count: number): number {
  return sum(rewards_P_G.map((rewards_G) => Math.sqrt(variance(rewards_G)))) / count;
}

/** Whether rollouts of a step may have left nothing behind. */
function hasLost(view: RunView, step: number): boolean {
  const stops = ["env-crash", "env-timeout", "engine-error", "episode-timeout", "cancelled"] as const;
  return stops.some(
    (stop) => isInfrastructureStop(stop) && view.series(metric.stop(stop)).some((point) => point.step === step),
  );
}
