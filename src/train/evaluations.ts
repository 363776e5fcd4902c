import { defined } from "../defined.ts";
import type { EvalReport } from "../eval/evaluate.ts";
import { earlierReport, evaluate } from "./stages/evaluate.ts";
import { endReason, type TrainingRun } from "./training-run.ts";

export async function evaluateBefore<Data>(run: TrainingRun<Data>): Promise<EvalReport | undefined> {
  const { config, recorder, context, firstStep } = run;
  if (firstStep > (config.warmStart?.steps ?? 0)) return earlierReport(recorder, "before");
  if (endReason(run) !== undefined) return undefined;
  const report = await evaluateHeldOut(run, "before");
  await recorder.saveIfDue(context.policy.engine);
  return report;
}

/** An evaluation of so many steps, unless it was made before the run was resumed. */
export async function evaluateIfDue<Data>(run: TrainingRun<Data>, step: number): Promise<void> {
  const { eval: evaluation, warmStart } = run.config;
  const learned = step + 1 - (warmStart?.steps ?? 0);
  if (evaluation?.every === undefined || learned < 1 || learned % evaluation.every !== 0) return;
  if ((await earlierReport(run.recorder, `step-${step}`)) === undefined) await evaluateHeldOut(run, `step-${step}`);
}

export function evaluateHeldOut<Data>({ config, context, recorder }: TrainingRun<Data>, when: string) {
  const { every: _every, retainEpisodes, ...evaluation } = config.eval ?? {};
  return evaluate({ ...context, recorder, evaluation, ...defined({ retainEpisodes }) }, when);
}
