import { defined } from "../defined.ts";
import { withNextKl } from "./kl-coefficient.ts";
import { complete } from "./stages/complete.ts";
import { type GroupSource, gather } from "./stages/gather.ts";
import { prepare } from "./stages/prepare.ts";
import { type AheadRecord, record } from "./stages/record.ts";
import { addCosts, speedMetrics } from "./stages/rollout-metrics.ts";
import type { Metrics, StepContext } from "./stages/stage-context.ts";
import { stageTimer } from "./stages/stage-timer.ts";
import { update } from "./stages/update.ts";
import type { TrainingRun } from "./training-run.ts";

/** What a trainer that rolls out ahead adds to a step. */
export interface StepAhead<Data> extends AheadRecord {
  source(context: StepContext<Data>): GroupSource<Data>;
  metrics(): Metrics;
}

/**
 * One step: gather groups, complete them, prepare a batch, update, record. False where it was broken off before the update: nothing of
 * it is recorded then. Groups are rolled out now, or were `ahead`.
 */
export async function learnStep<Data>(
  run: TrainingRun<Data>,
  context: StepContext<Data>,
  ahead?: StepAhead<Data>,
): Promise<boolean> {
  const { klCoefficient } = run.state;
  const timer = stageTimer();
  const gathered = await timer.time("rollout", () => gather(context, ahead?.source(context)));
  if (gathered === undefined || context.signal?.aborted) return false;
  const ofAhead = ahead?.metrics();
  const completed = await timer.time("credit", () => complete(context, gathered));
  const prepared = await timer.time("credit", () => prepare(context, { ...completed, ...defined({ klCoefficient }) }));
  const updated = await timer.time("update", () => update(context, prepared));
  const rolled = addCosts(gathered.metrics, completed.metrics);
  const metrics = {
    ...prepared.metrics,
    ...updated,
    ...context.guide.metrics(),
    ...rolled,
    ...ofAhead,
    ...timer.metrics,
    ...speedMetrics(rolled, timer.metrics),
  };
  const state = withNextKl(run.state, context.algorithm, prepared);
  const successWindow = run.config.earlyStop?.window;
  run.state = await record(
    { ...context, recorder: run.recorder, ...defined({ successWindow, ahead }) },
    { ...gathered, step: context.step, metrics, rows: prepared.rows, state, failures: context.failures },
  );
  run.metrics = metrics;
  return true;
}
