import { mean, sum } from "../../statistics.ts";
import { clusteredInterval, type Interval } from "../interval.ts";
import { passAtKInterval, passHatKInterval, successInterval } from "../success-interval.ts";
import type { BenchmarkTask } from "./benchmark.ts";
import type { AttemptRecord } from "./results-file.ts";

export interface BenchmarkReport {
  readonly tasks: number;
  readonly attempts: number;
  /** Attempts that were made to their end; all figures are of them. */
  readonly made: number;
  /** Mean over all attempts, with a 95 % interval that counts tasks. */
  readonly success: Interval;
  /** By k, of tasks with at least k attempts. */
  readonly passAtK: Readonly<Record<number, Interval>>;
  readonly passHatK: Readonly<Record<number, Interval>>;
  /** Further published figures, each over the attempts that have it. */
  readonly metrics: Readonly<Record<string, Interval>>;
  readonly categories: Readonly<Record<string, { readonly tasks: number; readonly success: Interval }>>;
  readonly successByTask: Readonly<Record<string, number>>;
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Of whoever plays the user, where the benchmark has one. */
  readonly userPromptTokens?: number;
  readonly userCompletionTokens?: number;
  /** Attempts at which the model could not be reached, or the benchmark's own Python failed; in no other figure. */
  readonly failed: number;
  /** What these said, each once. */
  readonly failures: readonly string[];
}

export function reportOf(
  tasks: readonly BenchmarkTask[],
  attempts: number,
  done: ReadonlyMap<string, AttemptRecord>,
  failures: readonly string[],
): BenchmarkReport {
  const byTask = Map.groupBy(
    [...done.values()].filter(({ attempt }) => attempt < attempts),
    ({ task }) => task,
  );
  const tried = tasks.flatMap((task) => {
    const records = byTask.get(task.id);
    return records === undefined ? [] : [{ task, records }];
  });
  const records = tried.flatMap((each) => each.records);
  const success_P_G = tried.map((each) => each.records.map(({ success }) => Number(success)));
  const rates = (interval: typeof passAtKInterval) => {
    const powers = Array.from({ length: Math.floor(Math.log2(attempts)) + 1 }, (_, i) => 2 ** i);
    return Object.fromEntries(
      powers.flatMap((k) => {
        const enough = success_P_G.filter(({ length }) => length >= k);
        return enough.length === 0 ? [] : [[k, interval(enough, k)]];
      }),
    );
  };
  const names = [...new Set(records.flatMap(({ metrics }) => Object.keys(metrics)))];
  const groups = Map.groupBy(tried, ({ task }) => task.category ?? "");
  return {
    tasks: tasks.length,
    attempts,
    made: records.length,
    success: successInterval(success_P_G),
    passAtK: rates(passAtKInterval),
    passHatK: rates(passHatKInterval),
    metrics: Object.fromEntries(
      names.map((name) => [
        name,
        clusteredInterval(
          tried
            .map((each) => each.records.flatMap(({ metrics }) => (metrics[name] === undefined ? [] : [metrics[name]])))
            .filter(({ length }) => length > 0),
        ),
      ]),
    ),
    categories: Object.fromEntries(
      [...groups]
        .filter(([category]) => category !== "")
        .map(([category, members]) => {
          const successes = members.map((each) => each.records.map(({ success }) => Number(success)));
          return [category, { tasks: members.length, success: successInterval(successes) }];
        }),
    ),
    successByTask: Object.fromEntries(tried.map((each, p) => [each.task.id, mean(success_P_G[p])])),
    promptTokens: sum(records.map((record) => record.promptTokens)),
    completionTokens: sum(records.map((record) => record.completionTokens)),
    ...(records.some(({ userPromptTokens }) => userPromptTokens !== undefined)
      ? {
          userPromptTokens: sum(records.map((record) => record.userPromptTokens ?? 0)),
          userCompletionTokens: sum(records.map((record) => record.userCompletionTokens ?? 0)),
        }
      : {}),
    failed: failures.length,
    failures: [...new Set(failures)],
  };
}
