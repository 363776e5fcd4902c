import type { EvalReport } from "../../eval/evaluate.ts";
import type { Interval } from "../../eval/interval.ts";
import { evalReportFromJson } from "../../eval/stored-report.ts";
import { metric } from "../../schema/metric-names.ts";
import type { RunReader } from "../../store/index.ts";
import type { Evaluation, ShownInterval } from "./answers.ts";
import { finite } from "./finite.ts";

const maxEvaluations = 2000;

/** The evaluations of a run in order, each with the interval of the report that was stored with it. */
export async function readEvaluations(reader: RunReader): Promise<Evaluation[]> {
  const events = await reader.events({ types: ["eval-end"], limit: maxEvaluations });
  const evaluations: Evaluation[] = [];
  for (const [i, { event }] of events.entries()) {
    if (event.type !== "eval-end") continue;
    const { step, metrics } = event;
    const success = metrics[metric.evalSuccess];
    if (success === undefined) continue;
    const names = [`step-${step}`, ...(i === 0 ? ["before"] : []), ...(i === events.length - 1 ? ["after"] : [])];
    evaluations.push(evaluationOf(step, metrics, await reportOf(reader, names, success)));
  }
  return evaluations;
}

/** A resumed run may have left a report of another evaluation under the name: its mean tells. */
async function reportOf(reader: RunReader, names: readonly string[], success: number): Promise<EvalReport | undefined> {
  for (const name of names) {
    const stored = await reader.state(`eval/${name}`);
    if (stored === undefined) continue;
    const report = parsed(stored);
    if (report?.success.mean === success) return report;
  }
  return undefined;
}

function parsed(stored: unknown): EvalReport | undefined {
  try {
    return evalReportFromJson(stored);
  } catch {
    // a report of a version that wrote other fields: the mean is known all the same
    return undefined;
  }
}

function evaluationOf(
  step: number,
  metrics: Readonly<Record<string, number>>,
  report: EvalReport | undefined,
): Evaluation {
  const reward = metrics[metric.evalReward];
  return {
    step,
    success: shownInterval(report?.success ?? metrics[metric.evalSuccess]),
    ...(reward === undefined ? {} : { reward: shownInterval(report?.reward ?? reward) }),
    ...(report === undefined ? {} : { tasks: report.tasks, attempts: report.attempts, split: report.split }),
  };
}

/** A number alone has no bounds; those of a single task are infinite and say nothing. */
function shownInterval(value: Interval | number): ShownInterval {
  if (typeof value === "number") return { mean: finite(value), low: null, high: null };
  return { mean: finite(value.mean), low: finite(value.low), high: finite(value.high) };
}
