import type { Engine, Forward, StepReport } from "../engine/engine.ts";
import { addMetrics } from "../loss/combine.ts";
import type { Loss, LossResult, LossRow } from "../loss/loss.ts";
import { totalsOf } from "../loss/totals.ts";
import { metric } from "../monitor/metric-names.ts";
import { createRng } from "../random.ts";
import type { TrainRow } from "../schema/train-batch.ts";
import { seedOf } from "../task/seeds.ts";
import type { Algorithm } from "./algorithm.ts";
import { criticWeights, type Prepared } from "./prepare-batch.ts";
import { scheduleAt } from "./schedule.ts";

export interface UpdateOptions {
  readonly engine: Engine;
  readonly algorithm: Algorithm;
  readonly prepared: Prepared;
  readonly temperature: number;
  readonly step: number;
  readonly progress: number;
  readonly seed: number;
}

/** Goes through a batch: for each part forward, loss, backward, step. Returns what was measured on the way. */
export async function update(options: UpdateOptions): Promise<Record<string, number>> {
  const { algorithm, prepared, step, seed } = options;
  const { rows } = prepared.batch;
  const learned = rows.filter(({ mask_T }) => mask_T.includes(1));
  if (learned.length === 0) return { [metric.skippedSteps]: 1 };
  const reports: Record<string, number>[] = [];
  const rng = createRng(seedOf(seed, "mini-batches", step));
  for (let epoch = 0; epoch < algorithm.epochs; epoch++) {
    for (const [part, partRows] of split(learned, algorithm.miniBatches, () => rng.next()).entries()) {
      const isFirst = epoch === 0 && part === 0;
      reports.push(await updatePart(options, partRows, isFirst && prepared.isOnPolicy));
    }
  }
  return meanOf(reports);
}

async function updatePart(options: UpdateOptions, rows: readonly TrainRow[], isOnPolicy: boolean) {
  const { engine, algorithm, temperature, progress, step } = options;
  const { loss, optimizer, critic } = algorithm;
  const isSeparate = critic?.kind === "separate";
  const isPretraining = isSeparate && step < critic.pretrainSteps;
  const batch = { rows: rows.map(({ tokens_T, mask_T }) => ({ tokens: tokens_T, mask: mask_T })) };
  // nothing was updated since these tokens were sampled: their log-probabilities are known
  const canSkip = isOnPolicy && loss.needs.entropies !== true && (loss.needs.values !== true || isSeparate);
  const sampled = { logprobs_B_T: rows.map((row) => row.oldLogprobs_T), policyVersion: engine.info.policyVersion };
  const forward = await engine.forward(batch, { temperature, ...(canSkip ? { sampled } : {}) });
  const judged = isSeparate ? await engine.forward(batch, { temperature, weights: criticWeights }) : forward;
  const lossRows = rows.map((row, i) => lossRow(row, i, forward, judged, canSkip));
  const result = loss.compute(lossRows, totalsOf(lossRows));

  const { learningRate, weightDecay, beta2, maxGradientNorm } = optimizer;
  const rate = scheduleAt(learningRate, progress);
  const { logprobs_B_T, entropies_B_T, values_B_T } = result.derivatives;
  const derivatives = { logprobs_B_T, ...(entropies_B_T === undefined ? {} : { entropies_B_T }) };
  const values = values_B_T === undefined ? {} : { values_B_T };
  let report: StepReport | undefined;
  if (!isPretraining) {
    await engine.backward(forward, isSeparate ? derivatives : { ...derivatives, ...values });
    report = await engine.step({ learningRate: rate, weightDecay, beta2, maxGradientNorm });
  }
  if (isSeparate && values_B_T !== undefined) {
    await engine.backward(judged, values);
    const criticRate = scheduleAt(critic.learningRate, progress);
    await engine.step({ learningRate: criticRate, beta2, maxGradientNorm, weights: criticWeights });
  }
  return partMetrics(loss, result, rows, report, rate);
}

function lossRow(row: TrainRow, i: number, forward: Forward, judged: Forward, canSkip: boolean): LossRow {
  return {
    ...row,
    logprobs_T: forward.logprobs_B_T[i]!,
    ...(canSkip ? {} : { entropies_T: forward.entropies_B_T[i]! }),
    ...(judged.values_B_T === undefined ? {} : { values_T: judged.values_B_T[i]! }),
  };
}

function partMetrics(
  loss: Loss,
  result: LossResult,
  rows: readonly TrainRow[],
  report: StepReport | undefined,
  rate: number,
): Record<string, number> {
  const { logprobs_B_T } = result.derivatives;
  let [sampled, unsampled] = [0, 0];
  for (const [i, { mask_T }] of rows.entries()) {
    for (let t = 0; t < mask_T.length; t++) {
      const size = Math.abs(logprobs_B_T[i]![t]!);
      if (mask_T[t] === 1) sampled += size;
      else unsampled += size;
    }
  }
  return {
    ...result.metrics,
    [metric.loss]: result.loss,
    [metric.learningRate]: rate,
    [metric.unsampledShare]: unsampled === 0 ? 0 : unsampled / (sampled + unsampled),
    ...(report === undefined
      ? {}
      : { [metric.gradientNorm]: report.gradientNorm, [metric.skippedSteps]: report.applied ? 0 : 1 }),
    [`update/loss/${loss.name}`]: result.loss,
  };
}

/** Rollouts in random order, in parts of about equal size; rows of one rollout stay together. */
function split(rows: readonly TrainRow[], parts: number, random: () => number): TrainRow[][] {
  if (parts <= 1) return [[...rows]];
  const rollouts = [...Map.groupBy(rows, ({ rollout, group }) => `${group} ${rollout}`).values()];
  for (let i = rollouts.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [rollouts[i], rollouts[j]] = [rollouts[j]!, rollouts[i]!];
  }
  const size = Math.ceil(rollouts.length / parts);
  return Array.from({ length: Math.ceil(rollouts.length / size) }, (_, part) =>
    rollouts.slice(part * size, (part + 1) * size).flat(),
  );
}

/** Means over parts; of names ending in `-max` the greatest. */
function meanOf(reports: readonly Record<string, number>[]): Record<string, number> {
  const sums = addMetrics(reports);
  return Object.fromEntries(
    Object.entries(sums).map(([name, sum]) => [name, name.endsWith("-max") ? sum : sum / reports.length]),
  );
}
