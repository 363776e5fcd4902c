import { defined } from "../defined.ts";
import { errorText } from "../errors.ts";
import { FailureTally } from "../schema/failure.ts";
import { fit } from "./fit.ts";
import { isFromRun } from "./parent.ts";
import { record } from "./stages/record.ts";
import type { Metrics } from "./stages/stage-context.ts";
import { endReason, type TrainingRun } from "./training-run.ts";
import type { WarmStart, WarmStartBatches } from "./warm-start.ts";
import { WarmStartCache } from "./warm-start-cache.ts";

/** The steps before learning from experience, where the configuration has some and they are not done yet. */
export async function runWarmStart<Data>(run: TrainingRun<Data>): Promise<void> {
  const { config, context, recorder, firstStep } = run;
  const { warmStart: plan, env } = config;
  if (plan === undefined || isFromRun(plan) || firstStep >= plan.steps || endReason(run) !== undefined) return;
  const { policy, seed, learners } = context;
  const doneSteps = firstStep > 0 ? firstStep : undefined;
  const start = { type: "phase-start", phase: plan.name, steps: plan.steps, ...defined({ doneSteps }) } as const;
  const canReuse = typeof plan.cache === "string" && firstStep === 0;
  if (!canReuse) recorder.monitors.record(start);
  const tally = new FailureTally("demonstration");
  const batches = await plan
    .prepare(env, policy, seed, learners, (rollout) => tally.add(rollout))
    .finally(() => recorder.recordFailures(tally.list(), tally.attempts));
  const cache = canReuse ? await orWarn(run, () => openCache(run, plan, batches)) : undefined;
  const reused = await orWarn(run, async () => cache?.load(policy.engine));
  if (canReuse) recorder.monitors.record({ ...start, ...(reused === undefined ? {} : { reusedFrom: cache!.path }) });
  if (reused !== undefined) {
    for (const [step, learned] of reused.entries()) await recordStep(run, step, { ...batches.metrics, ...learned });
    await recorder.saveIfDue(policy.engine);
    return;
  }
  const all = await learn(run, plan, batches);
  if (all.length === plan.steps) await orWarn(run, async () => cache?.store(policy.engine, all.map(untimed)));
}

async function learn<Data>(run: TrainingRun<Data>, plan: WarmStart, batches: WarmStartBatches): Promise<Metrics[]> {
  const { context, recorder, firstStep } = run;
  const { engine } = context.policy;
  const all: Metrics[] = [];
  await fit({
    engine,
    loss: plan.loss,
    optimizer: { learningRate: plan.learningRate, weightDecay: 0, beta2: 0.999, maxGradientNorm: 1 },
    seed: context.seed,
    steps: plan.steps,
    firstStep,
    rows: batches.rows,
    async record(step, learned) {
      all.push(learned);
      await recordStep(run, step, { ...batches.metrics, ...learned });
      await recorder.saveIfDue(engine);
    },
    shouldStop: () => endReason(run) !== undefined,
  });
  return all;
}

async function recordStep<Data>(run: TrainingRun<Data>, step: number, metrics: Metrics): Promise<void> {
  const { context, recorder, state } = run;
  run.state = await record({ ...context, recorder }, { step, metrics, groups: [], rows: [], state });
  run.metrics = metrics;
}

function openCache<Data>({ config, context }: TrainingRun<Data>, plan: WarmStart, batches: WarmStartBatches) {
  const { seed = 0 } = config;
  const directory = plan.cache === false || plan.cache === undefined ? "" : plan.cache;
  return WarmStartCache.open(directory, context.policy.engine, { plan, batches, seed });
}

/** A cache that cannot be written costs time, not the run. */
async function orWarn<Data, Value>(run: TrainingRun<Data>, use: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await use();
  } catch (error) {
    const message = `the warm start is not cached: ${errorText(error)}`;
    run.recorder.monitors.record({ type: "warning", message });
    return undefined;
  }
}

/** How long steps took is of the run that made them. */
function untimed(metrics: Metrics): Metrics {
  return Object.fromEntries(Object.entries(metrics).filter(([name]) => !/^(time|speed)\//.test(name)));
}
