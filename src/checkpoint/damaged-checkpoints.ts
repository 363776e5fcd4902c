import type { Finding } from "../monitor/doctor/detector.ts";
import type { Checkpoints } from "./checkpoints.ts";

const code = "checkpoint-damaged";

/** A finding for each checkpoint that is not as it was written. `sizes` alone are quick, whatever the size. */
export function damagedCheckpoints(checkpoints: Checkpoints, what: "bytes" | "sizes" = "bytes"): Finding[] {
  const steps = checkpoints.steps();
  const problems = new Map(steps.map((step) => [step, checkpoints.problem(step, what)]));
  const sound = steps.filter((step) => problems.get(step) === undefined);
  return steps.flatMap((step) => {
    const problem = problems.get(step);
    if (problem === undefined) return [];
    const directory = checkpoints.directory(step);
    const other = sound.findLast((each) => each < step) ?? sound.at(-1);
    return [
      {
        code,
        severity: "error" as const,
        step,
        message: `The checkpoint of step ${step} is damaged: ${problem}.`,
        evidence: { directory, problem },
        remedy:
          other === undefined
            ? `No other checkpoint is whole. Restore ${directory} from a copy, or remove it to begin anew.`
            : `Restore ${directory} from a copy, or remove it: the checkpoint of step ${other} is whole.`,
      },
    ];
  });
}
