import { defined } from "../../defined.ts";
import { type EvalOptions, type EvalReport, measure, refuseLost } from "../../eval/evaluate.ts";
import { evalReportFromJson } from "../../eval/stored-report.ts";
import { metric } from "../../schema/metric-names.ts";
import type { RunRecorder } from "../run-recorder.ts";
import type { TrainContext } from "./stage-context.ts";

export interface EvaluateContext<Data>
  extends Pick<TrainContext<Data>, "world" | "policy" | "rollout" | "limit" | "signal"> {
  readonly recorder: RunRecorder;
  /** Held-out tasks; no tasks, no evaluation. */
  readonly evaluation: Partial<EvalOptions>;
  /** Episodes that stay stored once there is a later evaluation. */
  readonly retainEpisodes?: number;
}

/** Measures the policy on held-out tasks and records the report under the name `when`. Nothing where none is wanted. */
export async function evaluate<Data>(context: EvaluateContext<Data>, when: string): Promise<EvalReport | undefined> {
  const { world, policy, rollout, limit, signal, recorder, evaluation } = context;
  if (signal?.aborted || evaluation.tasks === 0) return undefined;
  // the policy has not moved since
  const known = recorder.lastReport();
  if (known !== undefined) return known;
  const options = { ...rollout, concurrency: limit, ...evaluation, ...defined({ signal }) };
  const report = await measure(world, policy, options);
  if (signal?.aborted) return undefined;
  await recorder.recordFailures(report.failures, report.rollouts.length);
  refuseLost(report);
  const metrics = { [metric.evalSuccess]: report.success.mean, [metric.evalReward]: report.reward.mean };
  await recorder.recordEvaluation(when, metrics, report, context.retainEpisodes);
  return report;
}

/** The report of an evaluation that was made before the run was resumed, without its rollouts. */
export async function earlierReport(recorder: RunRecorder, when: string): Promise<EvalReport | undefined> {
  const stored = await recorder.evaluation(when);
  return stored === undefined ? undefined : evalReportFromJson(stored);
}
