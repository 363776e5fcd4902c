import { defined } from "../defined.ts";
import type { EvalReport } from "../eval/evaluate.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { checkConfig } from "./check-config.ts";
import { withNextKl } from "./kl-coefficient.ts";
import { complete } from "./stages/complete.ts";
import { earlierReport, evaluate } from "./stages/evaluate.ts";
import { gather } from "./stages/gather.ts";
import { prepare } from "./stages/prepare.ts";
import { record } from "./stages/record.ts";
import { addCosts, speedMetrics } from "./stages/rollout-metrics.ts";
import type { StepContext } from "./stages/stage-context.ts";
import { stageTimer } from "./stages/stage-timer.ts";
import { update } from "./stages/update.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { atStep, endReason, openTraining, secondsSince, type TrainingRun } from "./training-run.ts";
import { runWarmStart } from "./warm-start-phase.ts";
import { copyWeights } from "./weights.ts";

/**
 * The page to read first: trains a policy in an environment, one stage after the other. A step is: pick tasks, roll out a group of
 * attempts at each and reward them, select groups, prepare a batch (reference, critic, credit), update, record, evaluate.
 */
export async function train<Data>(config: TrainConfig<Data>): Promise<TrainResult> {
  checkConfig(config);
  const run = await openTraining(config);
  const { recorder, context } = run;
  try {
    await runWarmStart(run);
    const before = await evaluateBefore(run);
    const reason = await learn(run);
    const after = reason === "stopped" ? undefined : await evaluateHeldOut(run, "after");
    await recorder.save(context.policy.engine);
    await recorder.end(reason);
    const result = { reason, steps: recorder.lastStep + 1, metrics: run.metrics, policy: context.policy };
    return { ...result, seconds: secondsSince(run.startedMs), ...defined({ before, after }) };
  } catch (error) {
    await recorder.fail(error, context.policy.engine);
    // nobody else will close a policy that was made here
    if (typeof config.policy === "function") await context.policy.engine.close();
    throw error;
  } finally {
    await recorder.close();
  }
}

async function evaluateBefore<Data>(run: TrainingRun<Data>): Promise<EvalReport | undefined> {
  const { config, recorder, context, firstStep } = run;
  if (firstStep > (config.warmStart?.steps ?? 0)) return earlierReport(recorder, "before");
  if (endReason(run) !== undefined) return undefined;
  const report = await evaluateHeldOut(run, "before");
  await recorder.saveIfDue(context.policy.engine);
  return report;
}

async function learn<Data>(run: TrainingRun<Data>): Promise<RunEndReason> {
  const { config, context, recorder, firstStep } = run;
  const { steps, algorithm } = config;
  const start = config.warmStart?.steps ?? 0;
  // a warm start that was broken off continues when the run is resumed: weights to compare with are not there yet
  const stopped = endReason(run);
  if (stopped !== undefined) return stopped;
  if (firstStep <= start) await copyWeights(context.policy, algorithm, context.learners, run.parent !== undefined);
  const doneSteps = firstStep > start ? firstStep - start : undefined;
  recorder.monitors.record({ type: "phase-start", phase: algorithm.name, steps, ...defined({ doneSteps }) });
  // an evaluation that a stop left out of the step that was saved
  await evaluateIfDue(run, firstStep - 1);
  for (let step = Math.max(start, firstStep); step < start + steps; step++) {
    const reason = endReason(run);
    if (reason !== undefined) return reason;
    const isDone = await learnStep(run, atStep(run, step));
    if (!isDone) return "stopped";
    await evaluateIfDue(run, step);
    await recorder.saveIfDue(context.policy.engine);
  }
  return endReason(run) ?? "finished";
}

/** One step. False where it was broken off before the update: nothing of it is recorded then. */
async function learnStep<Data>(run: TrainingRun<Data>, context: StepContext<Data>): Promise<boolean> {
  const { klCoefficient } = run.state;
  const timer = stageTimer();
  const gathered = await timer.time("rollout", () => gather(context));
  if (gathered === undefined || context.signal?.aborted) return false;
  const completed = await timer.time("credit", () => complete(context, gathered));
  const prepared = await timer.time("credit", () => prepare(context, { ...completed, ...defined({ klCoefficient }) }));
  const updated = await timer.time("update", () => update(context, prepared));
  const rolled = addCosts(gathered.metrics, completed.metrics);
  const metrics = {
    ...prepared.metrics,
    ...updated,
    ...context.guide.metrics(),
    ...rolled,
    ...timer.metrics,
    ...speedMetrics(rolled, timer.metrics),
  };
  const state = withNextKl(run.state, context.algorithm, prepared);
  const successWindow = run.config.earlyStop?.window;
  run.state = await record(
    { ...context, recorder: run.recorder, ...defined({ successWindow }) },
    { ...gathered, step: context.step, metrics, rows: prepared.rows, state, failures: context.failures },
  );
  run.metrics = metrics;
  return true;
}

async function evaluateIfDue<Data>(run: TrainingRun<Data>, step: number): Promise<void> {
  const { eval: evaluation, warmStart } = run.config;
  const learned = step + 1 - (warmStart?.steps ?? 0);
  if (evaluation?.every === undefined || learned < 1 || learned % evaluation.every !== 0) return;
  if ((await earlierReport(run.recorder, `step-${step}`)) === undefined) await evaluateHeldOut(run, `step-${step}`);
}

function evaluateHeldOut<Data>({ config, context, recorder }: TrainingRun<Data>, when: string) {
  const { every: _every, retainEpisodes, ...evaluation } = config.eval ?? {};
  return evaluate({ ...context, recorder, evaluation, ...defined({ retainEpisodes }) }, when);
}
