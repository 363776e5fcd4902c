import { defined } from "../defined.ts";
import { metric } from "../schema/metric-names.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { checkConfig } from "./check-config.ts";
import { chooseGroups } from "./choose-groups.ts";
import { collect } from "./collect.ts";
import { klReference, prepareBatch } from "./prepare-batch.ts";
import { rolloutMetrics, speedMetrics } from "./step-metrics.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { TrainingRun } from "./training-run.ts";
import { update } from "./update.ts";
import { warmStart } from "./warm-start-phase.ts";
import { copyWeights } from "./weights.ts";

/**
 * The page to read first: trains a policy in an environment, one stage after the other. A step is: pick tasks, roll out a
 * group of attempts at each, give credit, update, keep what happened.
 */
export async function train<Data, State>(config: TrainConfig<Data, State>): Promise<TrainResult> {
  checkConfig(config);
  const run = await TrainingRun.open(config);
  try {
    await warmStart(run);
    const before = await evaluateBefore(run);
    const reason = await learn(run);
    const after = reason === "stopped" ? undefined : await run.evaluate("after");
    return await run.end(reason, defined({ before, after }));
  } catch (error) {
    await run.fail();
    throw error;
  } finally {
    await run.close();
  }
}

async function evaluateBefore<Data, State>(run: TrainingRun<Data, State>) {
  const start = run.config.warmStart?.steps ?? 0;
  if (run.firstStep > start) return run.earlierReport("before");
  if (run.endReason() !== undefined) return undefined;
  const report = await run.evaluate("before");
  await run.saveIfDue();
  return report;
}

async function learn<Data, State>(run: TrainingRun<Data, State>): Promise<RunEndReason> {
  const { warmStart: warm, steps, algorithm } = run.config;
  const start = warm?.steps ?? 0;
  // a warm start that was broken off goes on when the run is resumed: weights to compare with are not there yet
  const stopped = run.endReason();
  if (stopped !== undefined) return stopped;
  if (run.firstStep <= start) await copyWeights(run.policy, algorithm, run.learners);
  const doneSteps = run.firstStep > start ? run.firstStep - start : undefined;
  run.emit({ type: "phase-start", phase: algorithm.name, steps, ...defined({ doneSteps }) });
  // what a stop left out of the step that was saved
  await evaluateIfDue(run, run.firstStep - 1);
  for (let step = Math.max(start, run.firstStep); step < start + steps; step++) {
    const reason = run.endReason() ?? (await learnStep(run, step, step - start));
    if (reason !== undefined) return reason;
  }
  return run.endReason() ?? "finished";
}

async function learnStep<Data, State>(
  run: TrainingRun<Data, State>,
  step: number,
  learningStep: number,
): Promise<RunEndReason | undefined> {
  const { env, algorithm, tasksPerStep = 16, rollout = {}, steps, signal } = run.config;
  const { policy, guide, seed, roles, learners } = run;
  const { engine } = policy;
  const progress = learningStep / steps;
  const times = new Map<string, number>();
  const timed = async <Value>(stage: string, work: () => Promise<Value>): Promise<Value> => {
    const started = performance.now();
    const value = await work();
    times.set(metric.seconds(stage), (performance.now() - started) / 1000);
    return value;
  };

  const common = { env, policy, algorithm, guide, roles, tasksPerStep, step, progress, seed, rollout };
  const watched = { ...common, onRollout: run.emitRollout };
  const collected = await timed("rollout", () => collect({ ...watched, ...defined({ signal }) }));
  if (signal?.aborted) return "stopped";
  const prepared = await timed("credit", async () =>
    prepareBatch(engine, algorithm, await chooseGroups(run, collected, step), learners),
  );
  const learned = await timed("update", () =>
    update({ engine, algorithm, prepared, step: learningStep, progress, seed }),
  );
  const divergence = prepared.metrics[klReference];
  if (divergence !== undefined) {
    algorithm.klInReward?.update(divergence, new Set(prepared.rows.map((row) => row.rollout)).size);
  }
  const rolled = rolloutMetrics(collected.groups, { ...env.limits, ...rollout.limits }.turns);
  const metrics = {
    ...collected.choice.metrics,
    ...prepared.metrics,
    ...learned,
    ...guide.metrics(),
    ...rolled,
    ...Object.fromEntries(times),
    ...speedMetrics(rolled, times.values()),
  };
  await run.keep(step, metrics, collected.groups, prepared.rows);
  await evaluateIfDue(run, step);
  await run.saveIfDue();
  return undefined;
}

async function evaluateIfDue<Data, State>(run: TrainingRun<Data, State>, step: number): Promise<void> {
  const { eval: evaluation, warmStart: warm } = run.config;
  const learned = step + 1 - (warm?.steps ?? 0);
  if (evaluation?.every === undefined || learned < 1 || learned % evaluation.every !== 0) return;
  if ((await run.earlierReport(`step-${step}`)) === undefined) await run.evaluate(`step-${step}`);
}
