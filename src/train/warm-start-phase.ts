import { totalsOf } from "../loss/totals.ts";
import { metric } from "../monitor/metric-names.ts";
import { scheduleAt } from "./schedule.ts";
import type { TrainingRun } from "./training-run.ts";

/** The steps before learning from experience, where the configuration has some and they are not done yet. */
export async function warmStart<Data, State>(run: TrainingRun<Data, State>): Promise<void> {
  const { warmStart: plan, env } = run.config;
  if (plan === undefined || run.firstStep >= plan.steps) return;
  const { engine } = run.policy;
  run.emit({ type: "phase-start", phase: plan.name, steps: plan.steps });
  const batches = await plan.prepare(env, run.policy, run.seed);
  for (let step = run.firstStep; step < plan.steps && run.endReason() === undefined; step++) {
    const started = performance.now();
    const rows = batches.rows(step);
    const learningRate = scheduleAt(plan.learningRate, step / plan.steps);
    const batch = { rows: rows.map(({ tokens_T, mask_T }) => ({ tokens: tokens_T, mask: mask_T })) };
    const forward = await engine.forward(batch);
    const lossRows = rows.map((row, i) => ({ ...row, logprobs_T: forward.logprobs_B_T[i]! }));
    const result = plan.loss.compute(lossRows, totalsOf(lossRows));
    await engine.backward(forward, { logprobs_B_T: result.derivatives.logprobs_B_T });
    const report = await engine.step({ learningRate, maxGradientNorm: 1 });
    const metrics = {
      ...batches.metrics,
      ...result.metrics,
      [metric.loss]: result.loss,
      [metric.learningRate]: learningRate,
      [metric.gradientNorm]: report.gradientNorm,
      [metric.seconds("update")]: (performance.now() - started) / 1000,
    };
    await run.keep(step, { metrics, groups: [] });
  }
}
