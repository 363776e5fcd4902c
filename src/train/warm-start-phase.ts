import { defined } from "../defined.ts";
import { metric } from "../schema/metric-names.ts";
import type { TrainingRun } from "./training-run.ts";
import { update } from "./update.ts";

/** The steps before learning from experience, where the configuration has some and they are not done yet. */
export async function warmStart<Data, State>(run: TrainingRun<Data, State>): Promise<void> {
  const { warmStart: plan, env } = run.config;
  if (plan === undefined || run.firstStep >= plan.steps || run.endReason() !== undefined) return;
  const { engine } = run.policy;
  const optimizer = { learningRate: plan.learningRate, weightDecay: 0, beta2: 0.999, maxGradientNorm: 1 };
  const doneSteps = run.firstStep > 0 ? run.firstStep : undefined;
  run.emit({ type: "phase-start", phase: plan.name, steps: plan.steps, ...defined({ doneSteps }) });
  const batches = await plan.prepare(env, run.policy, run.seed, run.learners);
  for (let step = run.firstStep; step < plan.steps && run.endReason() === undefined; step++) {
    const started = performance.now();
    const learned = await update({
      engine,
      algorithm: { loss: plan.loss, optimizer, epochs: 1, miniBatches: 1 },
      prepared: { rows: batches.rows(step), metrics: {} },
      step,
      progress: step / plan.steps,
      seed: run.seed,
    });
    const times = { [metric.seconds("update")]: (performance.now() - started) / 1000 };
    await run.keep(step, { ...batches.metrics, ...learned, ...times }, []);
    await run.saveIfDue();
  }
}
