import { metric } from "../monitor/metric-names.ts";
import type { RunEndReason } from "../schema/run-event.ts";
import { checkConfig } from "./check-config.ts";
import { type Collected, collect } from "./collect.ts";
import { greedyBaselines } from "./greedy-baselines.ts";
import { type ChosenGroup, criticWeights, prepareBatch, referenceWeights } from "./prepare-batch.ts";
import { scheduleAt } from "./schedule.ts";
import { rolloutMetrics } from "./step-metrics.ts";
import type { TrainConfig, TrainResult } from "./train.ts";
import { TrainingRun } from "./training-run.ts";
import { update } from "./update.ts";
import { warmStart } from "./warm-start-phase.ts";

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
    return await run.end(reason, { ...(before && { before }), ...(after && { after }) });
  } finally {
    await run.close();
  }
}

async function evaluateBefore<Data, State>(run: TrainingRun<Data, State>) {
  const isAtStart = run.firstStep <= (run.config.warmStart?.steps ?? 0);
  return isAtStart && run.endReason() === undefined ? run.evaluate("before") : undefined;
}

async function learn<Data, State>(run: TrainingRun<Data, State>): Promise<RunEndReason> {
  const { warmStart: warm, steps, algorithm } = run.config;
  const start = warm?.steps ?? 0;
  await copyWeights(run);
  run.emit({ type: "phase-start", phase: algorithm.name, steps });
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
  const { env, algorithm, tasksPerStep = 16, rollout = {}, steps, signal, eval: evaluation } = run.config;
  const { policy, guide, seed } = run;
  const progress = learningStep / steps;
  const times = new Map<string, number>();
  const timed = async <Value>(stage: string, work: () => Promise<Value>): Promise<Value> => {
    const started = performance.now();
    const value = await work();
    times.set(metric.seconds(stage), (performance.now() - started) / 1000);
    return value;
  };

  const common = { env, policy, algorithm, guide, tasksPerStep, step, progress, seed, rollout };
  const collected = await timed("rollout", () => collect({ ...common, ...(signal && { signal }) }));
  if (signal?.aborted) return "stopped";
  const chosen = await choose(run, collected, step);
  const temperature = scheduleAt(algorithm.sampling.temperature, progress);
  const { engine } = policy;
  const prepared = await timed("credit", () => prepareBatch(engine, algorithm, chosen));
  const learned = await timed("update", () =>
    update({ engine, algorithm, prepared, temperature, step: learningStep, progress, seed }),
  );
  const metrics = {
    ...rolloutMetrics(collected.groups, { ...env.limits, ...rollout.limits }.turns),
    ...collected.choice.metrics,
    ...prepared.metrics,
    ...learned,
    ...guide.metrics(),
    ...Object.fromEntries(times),
  };
  const klInReward = algorithm.klInReward;
  if (klInReward !== undefined) klInReward.update(metrics["kl/reference"] ?? 0, prepared.batch.rows.length);
  await run.keep(step, { metrics, groups: collected.groups });
  if (evaluation?.every !== undefined && (learningStep + 1) % evaluation.every === 0)
    await run.evaluate(`step-${step}`);
  return undefined;
}

async function choose<Data, State>(run: TrainingRun<Data, State>, { groups, choice }: Collected<Data>, step: number) {
  const baselines = run.config.algorithm.credit.needs.greedyBaseline ? await greedyBaselines(run, groups, step) : [];
  return choice.kept.map(
    ({ index, scale }): ChosenGroup => ({
      ...{ group: groups[index]!, scale },
      ...(baselines[index] === undefined ? {} : { baseline: baselines[index] }),
    }),
  );
}

/** The policy as it is before it learns from experience, to measure divergence from; and a critic's beginning. */
async function copyWeights<Data, State>({ config, policy }: TrainingRun<Data, State>): Promise<void> {
  const { loss, klInReward, critic } = config.algorithm;
  const { engine } = policy;
  const isMissing = (name: string) => !engine.info.weights.includes(name);
  const needsReference = loss.needs.reference === true || klInReward !== undefined;
  if (needsReference && isMissing(referenceWeights)) await engine.snapshot(referenceWeights);
  if (critic?.kind === "separate" && isMissing(criticWeights))
    await engine.snapshot(criticWeights, { trainable: true });
}
