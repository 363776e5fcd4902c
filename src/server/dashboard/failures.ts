import { defined } from "../../defined.ts";
import { type RunReader, type StoredFailure, storedFailures } from "../../store/index.ts";
import type { FailuresAnswer, LostStep, ShownFailure } from "./answers.ts";

const maxFailures = 200;

/** What failed in a run through no fault of the policy, and the steps that lost every attempt. */
export async function readFailures(reader: RunReader): Promise<FailuresAnswer> {
  const stored = await storedFailures(reader);
  const failures: ShownFailure[] = [];
  for (const failure of stored.slice(0, maxFailures)) failures.push(await shownFailure(reader, failure));
  return { failures, lost: lostSteps(stored) };
}

/** An attempt that failed before its first word has no trajectory to show. */
async function shownFailure(reader: RunReader, failure: StoredFailure): Promise<ShownFailure> {
  const { trajectories } = await reader.trajectories({ rollout: failure.rollout }, { limit: 1 });
  return { ...failure, ...defined({ example: trajectories[0]?.key }) };
}

function lostSteps(failures: readonly StoredFailure[]): LostStep[] {
  const parts = failures.flatMap(({ during, steps }) => steps.map((each) => ({ during, ...each })));
  return [...Map.groupBy(parts, ({ during, step }) => `${during} ${step}`).values()]
    .flatMap((same) => {
      const [{ during, step, attempts }] = same;
      const failed = same.reduce((sum, { count }) => sum + count, 0);
      return failed < attempts ? [] : [{ during, step, attempts }];
    })
    .sort((a, b) => a.step - b.step);
}
