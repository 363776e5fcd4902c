import type { Engine } from "../engine/engine.ts";
import type { Loss } from "../loss/loss.ts";
import { metric } from "../schema/metric-names.ts";
import type { Optimizer } from "./algorithm.ts";
import type { LearnRow } from "./learn-row.ts";
import type { Metrics } from "./stages/stage-context.ts";
import { update } from "./stages/update.ts";

export interface FitOptions {
  readonly engine: Engine;
  readonly loss: Loss;
  readonly optimizer: Optimizer;
  readonly seed: number;
  readonly steps: number;
  /** The first step that is still to be made, 0 by default. */
  readonly firstStep?: number;
  /** The rows of a step; they follow from its number alone, so that a run can be resumed. */
  rows(step: number): readonly LearnRow[] | Promise<readonly LearnRow[]>;
  /** Called after each step. */
  record?(step: number, metrics: Metrics): Promise<void>;
  /** Asked before each step. */
  shouldStop?(): boolean;
}

/**
 * The supervised loop: rows, update, record. Imitation, offline training and scorers are its callers. Returns the metrics of the
 * last step that was made.
 */
export async function fit(options: FitOptions): Promise<Metrics> {
  const { engine, loss, optimizer, seed, steps, firstStep = 0 } = options;
  const algorithm = { loss, optimizer, epochs: 1, miniBatches: 1 };
  let metrics: Metrics = {};
  for (let step = firstStep; step < steps && options.shouldStop?.() !== true; step++) {
    const started = performance.now();
    const context = { policy: { engine }, algorithm, seed, learningStep: step, progress: step / steps };
    metrics = await update(context, { rows: await options.rows(step), metrics: {} });
    const seconds = (performance.now() - started) / 1000;
    await options.record?.(step, { ...metrics, [metric.seconds("update")]: seconds });
  }
  return metrics;
}
