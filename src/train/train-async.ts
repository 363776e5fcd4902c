import { defined } from "../defined.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import type { AsyncOptions } from "./async/async-options.ts";
import { RolloutsAhead } from "./async/rollouts-ahead.ts";
import { evaluateIfDue } from "./evaluations.ts";
import { learnStep } from "./train-step.ts";
import { atStep, endReason, type TrainingRun } from "./training-run.ts";

/**
 * The asynchronous loop: the stages of `train-sync.ts` over a bounded buffer. Rollouts never stop; a step takes the oldest complete
 * groups out of the buffer, each once, and new weights go into sequences that are being sampled, between two tokens. How far rollouts
 * run ahead is bounded by `staleness`; with 0 the run has the bits of the synchronous one.
 */
export async function learnAsync<Data>(run: TrainingRun<Data>, options: AsyncOptions): Promise<RunEndReason> {
  const { config, context, recorder, restored } = run;
  const start = config.warmStart?.steps ?? 0;
  const [first, end] = [Math.max(start, run.firstStep), start + config.steps];
  if (first >= end) return endReason(run) ?? "finished";
  const { signal } = context;
  const at = (step: number) => atStep(run, step);
  const buffered = (group: Parameters<typeof recorder.buffer>[0]) => recorder.buffer(group);
  const ahead = await RolloutsAhead.open({ ...options, at, buffered, first, end, restored, ...defined({ signal }) });
  try {
    for (let step = first; step < end; step++) {
      const reason = endReason(run);
      if (reason !== undefined) return reason;
      ahead.advance(step);
      const isDone = await learnStep(run, atStep(run, step), ahead);
      if (!isDone) return "stopped";
      await evaluateIfDue(run, step);
      await recorder.saveIfDue(context.policy.engine);
    }
    return endReason(run) ?? "finished";
  } finally {
    await ahead.close();
  }
}
