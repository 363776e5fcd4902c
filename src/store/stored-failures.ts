import { type Failure, failureKey } from "../schema/failure.ts";
import type { RunReader } from "./store.ts";

/** A failure over the whole run: `message`, `at` and `rollout` are those of its first step. */
export interface StoredFailure extends Failure {
  readonly firstStep: number;
  readonly lastStep: number;
  /** Attempts that failed so, by step. */
  readonly steps: readonly { readonly step: number; readonly count: number; readonly attempts: number }[];
}

/** What failed in a run through no fault of the policy: the most frequent first, texts that differ in numbers and ids alone together. */
export async function storedFailures(reader: Pick<RunReader, "events">): Promise<StoredFailure[]> {
  const events = (await reader.events({ types: ["failure"] })).flatMap(({ event }) =>
    event.type === "failure" ? [event] : [],
  );
  const kinds = Map.groupBy(events, failureKey);
  const failures = [...kinds.values()].map((same): StoredFailure => {
    const steps = same.map(({ step, count, attempts }) => ({ step, count, attempts })).sort((a, b) => a.step - b.step);
    const { type: _type, step: _step, attempts: _attempts, ...first } = same[0];
    const count = steps.reduce((total, each) => total + each.count, 0);
    return { ...first, count, firstStep: steps[0].step, lastStep: steps.at(-1)!.step, steps };
  });
  return failures.sort((a, b) => b.count - a.count || a.firstStep - b.firstStep);
}
