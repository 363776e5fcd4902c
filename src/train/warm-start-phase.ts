import { defined } from "../defined.ts";
import { FailureTally } from "../schema/failure.ts";
import { fit } from "./fit.ts";
import { record } from "./stages/record.ts";
import { endReason, type TrainingRun } from "./training-run.ts";

/** The steps before learning from experience, where the configuration has some and they are not done yet. */
export async function runWarmStart<Data>(run: TrainingRun<Data>): Promise<void> {
  const { config, context, recorder, firstStep } = run;
  const { warmStart: plan, env } = config;
  if (plan === undefined || firstStep >= plan.steps || endReason(run) !== undefined) return;
  const { policy, seed, learners } = context;
  const doneSteps = firstStep > 0 ? firstStep : undefined;
  recorder.monitors.record({ type: "phase-start", phase: plan.name, steps: plan.steps, ...defined({ doneSteps }) });
  const tally = new FailureTally("demonstration");
  const batches = await plan
    .prepare(env, policy, seed, learners, (rollout) => tally.add(rollout))
    .finally(() => recorder.recordFailures(tally.list(), tally.attempts));
  await fit({
    engine: policy.engine,
    loss: plan.loss,
    optimizer: { learningRate: plan.learningRate, weightDecay: 0, beta2: 0.999, maxGradientNorm: 1 },
    seed,
    steps: plan.steps,
    firstStep,
    rows: batches.rows,
    async record(step, learned) {
      const metrics = { ...batches.metrics, ...learned };
      run.state = await record({ ...context, recorder }, { step, metrics, groups: [], rows: [], state: run.state });
      run.metrics = metrics;
      await recorder.saveIfDue(policy.engine);
    },
    shouldStop: () => endReason(run) !== undefined,
  });
}
