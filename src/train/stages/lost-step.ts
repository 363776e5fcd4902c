import { LudusError } from "../../errors.ts";
import type { RolloutGroup } from "../../rollout/run-group.ts";
import { type FailureTally, failuresText } from "../../schema/failure.ts";
import { isInfrastructureStop } from "../../schema/stop-reason.ts";
import type { StepContext } from "./stage-context.ts";

/** Whether every attempt failed through no fault of the policy: there is nothing to learn from, and more steps would be no better. */
export function isLost(groups: readonly RolloutGroup[]): boolean {
  const rollouts = groups.flatMap((group) => group.rollouts);
  return rollouts.length > 0 && rollouts.every(({ stop }) => isInfrastructureStop(stop));
}

/** Ends a run that lost a whole step, with what the attempts said. */
export class LostStep extends LudusError {
  readonly step: number;
  readonly failures: FailureTally;
  readonly groups: readonly RolloutGroup[];

  constructor({ step, failures }: Pick<StepContext, "step" | "failures">, groups: readonly RolloutGroup[]) {
    super("everything-crashed", {
      got: `step ${step}, in which all ${failures.attempts} attempts failed: ${failuresText(failures.list())}`,
      expected: "attempts that are played to their end",
      hint:
        "Mend the environment, tool or engine that the text names (ludus env check plays some episodes), then run the same again: " +
        "a stored run resumes after its last whole step.",
    });
    this.step = step;
    this.failures = failures;
    this.groups = groups;
  }
}
