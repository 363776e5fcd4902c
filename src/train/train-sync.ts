import { defined } from "../defined.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { checkConfig } from "./check-config.ts";
import { evaluateBefore, evaluateHeldOut, evaluateIfDue } from "./evaluations.ts";
import { releaseWorld } from "./release-world.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { learnAsync } from "./train-async.ts";
import { learnStep } from "./train-step.ts";
import { atStep, endReason, openTraining, secondsSince, type TrainingRun } from "./training-run.ts";
import { runWarmStart } from "./warm-start-phase.ts";
import { copyWeights } from "./weights.ts";

/**
 * The page to read first: trains a policy in an environment, one stage after the other. A step is: pick tasks, roll out a group of
 * attempts at each and reward them, select groups, prepare a batch (reference, critic, credit), update, record, evaluate. The stages of
 * a step are in `train-step.ts`; `train-async.ts` is the same over groups that were rolled out ahead.
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
    await releaseWorld(config.env, (message) => recorder.monitors.record({ type: "warning", message }));
    await recorder.close();
  }
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
  return config.async === undefined ? learnInOrder(run) : learnAsync(run, config.async);
}

async function learnInOrder<Data>(run: TrainingRun<Data>): Promise<RunEndReason> {
  const { config, context, recorder, firstStep } = run;
  const start = config.warmStart?.steps ?? 0;
  for (let step = Math.max(start, firstStep); step < start + config.steps; step++) {
    const reason = endReason(run);
    if (reason !== undefined) return reason;
    const isDone = await learnStep(run, atStep(run, step));
    if (!isDone) return "stopped";
    await evaluateIfDue(run, step);
    await recorder.saveIfDue(context.policy.engine);
  }
  return endReason(run) ?? "finished";
}
