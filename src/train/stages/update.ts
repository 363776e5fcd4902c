import { defined } from "../../defined.ts";
import { type Engine, policyWeights, type StepReport } from "../../engine/engine.ts";
import { addMetrics } from "../../loss/combine.ts";
import type { Loss, LossResult, LossRow } from "../../loss/loss.ts";
import { totalsOf } from "../../loss/totals.ts";
import type { Rng } from "../../random.ts";
import { createRng } from "../../random.ts";
import { metric } from "../../schema/metric-names.ts";
import type { TrainRow } from "../../schema/train-batch.ts";
import { seedOf } from "../../task/seeds.ts";
import type { Algorithm } from "../algorithm.ts";
import type { LearnRow } from "../learn-row.ts";
import { forwardRows, type RowForward } from "../row-forward.ts";
import { rateAt, scheduleAt } from "../schedule.ts";
import { shuffled } from "../shuffled.ts";
import { together } from "../together.ts";
import { criticOf } from "../weights.ts";
import type { Prepared } from "./prepare.ts";
import type { Metrics, StepContext } from "./stage-context.ts";

/** What an update needs of the context; supervised fitting has no more. */
export interface UpdateContext extends Pick<StepContext, "learningStep" | "progress" | "seed"> {
  readonly policy: { readonly engine: Engine };
  readonly algorithm: Pick<Algorithm, "loss" | "epochs" | "miniBatches" | "optimizer" | "critic">;
}

/**
 * Goes through a batch: for each mini-batch forward, loss, backward, optimizer step. Rows of each set of weights are a batch of their
 * own. Metrics of sets other than the policy's have the set's name at the end.
 */
export async function update(context: UpdateContext, prepared: Prepared): Promise<Metrics> {
  const { algorithm, learningStep, seed } = context;
  const learned = prepared.rows.filter(({ mask_T }) => mask_T.includes(1));
  if (learned.length === 0) return { [metric.skippedSteps]: 1 };
  const metrics: Record<string, number> = {};
  for (const [weights, rows] of Map.groupBy(learned, (row) => row.weights)) {
    const isPolicy = weights === policyWeights;
    const rng = createRng(seedOf(seed, isPolicy ? "mini-batches" : `mini-batches/${weights}`, learningStep));
    const reports: PartReport[] = [];
    for (let epoch = 0; epoch < algorithm.epochs; epoch++) {
      for (const part of splitRows(rows, algorithm.miniBatches, rng)) {
        reports.push(await updatePart(context, prepared, part, weights));
      }
    }
    for (const [name, value] of Object.entries(joined(reports)))
      metrics[isPolicy ? name : `${name}/${weights}`] = value;
  }
  return metrics;
}

type PartReport = Pick<LossResult, "metrics" | "maxima">;

async function updatePart(
  { policy: { engine }, algorithm, progress, learningStep }: UpdateContext,
  prepared: Prepared,
  rows: readonly LearnRow[],
  weights: string,
): Promise<PartReport> {
  const { loss, optimizer, critic } = algorithm;
  const isSeparate = critic?.kind === "separate";
  const isPretraining = isSeparate && learningStep < critic.pretrainSteps;
  const { policyVersion } = engine.info;
  // until the policy moves on its log-probabilities are the old ones
  const isKnown = weights === policyWeights && policyVersion === prepared.policyVersion;
  // derivatives that depend on nothing need none: only a few rows are computed, for the metrics
  const isFixed = loss.hasFixedDerivatives === true && weights === policyWeights && critic === undefined;
  const isSampled = isFixed && !isKnown && rows.length > measuredRows;
  const canSkip =
    (isKnown || isSampled) &&
    loss.needs.entropies !== true &&
    loss.needs.targets !== true &&
    (loss.needs.values !== true || isSeparate);
  const idle = new Set<unknown>(canSkip ? [] : rows.filter((row) => loss.zeroGradient?.(row) === true));
  const known = canSkip ? { knownVersion: policyVersion } : {};
  const [forward, separate] = await together([
    forwardRows(engine, rows, { weights, isIdle: (row) => idle.has(row), ...known }),
    isSeparate ? forwardRows(engine, rows, { weights: criticOf(weights) }) : undefined,
  ]);
  const criticForward = separate ?? forward;
  const lossRows = rows.map((row, b) => lossRow(row, b, forward, criticForward));
  const computed = loss.compute(lossRows, totalsOf(lossRows));
  const result = isSampled ? { ...computed, ...(await measureSome(engine, loss, rows)) } : computed;

  const { learningRate, weightDecay, beta2, maxGradientNorm } = optimizer;
  const rate = rateAt(learningRate, progress, engine.info.parameters);
  const { values_B_T, ...ofPolicy } = result.derivatives;
  const ofValues = values_B_T === undefined ? {} : { values_B_T };
  const hasGradient = !isPretraining && (await forward.backward(isSeparate ? ofPolicy : { ...ofPolicy, ...ofValues }));
  // a GPU is still at the backward pass: its worker answers as soon as everything is queued
  const ofPart = partMetrics(result, rows);
  const report = hasGradient
    ? await engine.step({ learningRate: rate, weightDecay, beta2, maxGradientNorm, weights })
    : undefined;
  if (isSeparate && (await criticForward.backward(ofValues))) {
    const criticRate = scheduleAt(critic.learningRate, progress);
    await engine.step({ learningRate: criticRate, beta2, maxGradientNorm, weights: criticOf(weights) });
  }
  const metrics = { ...ofPart, ...stepMetrics(report, rate, isPretraining) };
  return { metrics, ...defined({ maxima: result.maxima }) };
}

/** Rows that a loss with fixed derivatives is measured on, spread evenly over the batch. */
const measuredRows = 8;

async function measureSome(engine: Engine, loss: Loss, rows: readonly LearnRow[]): Promise<Measured> {
  const stride = Math.ceil(rows.length / measuredRows);
  const some = rows.filter((_, b) => b % stride === 0);
  const forward = await forwardRows(engine, some, { weights: policyWeights });
  const lossRows = some.map((row, b) => lossRow(row, b, forward, forward));
  const { loss: value, metrics } = loss.compute(lossRows, totalsOf(lossRows));
  return { loss: value, metrics };
}

type Measured = Pick<LossResult, "loss" | "metrics">;

function lossRow(row: LearnRow, b: number, forward: RowForward, criticForward: RowForward): LossRow {
  const entropies_T = forward.entropies_B_T[b];
  return {
    ...row,
    logprobs_T: forward.logprobs_B_T[b],
    ...defined({
      entropies_T,
      targetLogprobs_T: forward.targets_B_T[b],
      values_T: criticForward.values_B_T === undefined ? undefined : criticForward.values_B_T[b],
    }),
  };
}

function partMetrics({ loss, derivatives, metrics }: LossResult, rows: readonly LearnRow[]): Record<string, number> {
  let [sampled, unsampled] = [0, 0];
  for (const [b, { mask_T }] of rows.entries()) {
    for (let t = 0; t < mask_T.length; t++) {
      const size = Math.abs(derivatives.logprobs_B_T[b][t]);
      if (mask_T[t] === 1) sampled += size;
      else unsampled += size;
    }
  }
  const unsampledShare = unsampled === 0 ? 0 : unsampled / (sampled + unsampled);
  return { ...metrics, [metric.loss]: loss, [metric.unsampledShare]: unsampledShare };
}

function stepMetrics(report: StepReport | undefined, rate: number, isPretraining: boolean): Record<string, number> {
  if (isPretraining) return {};
  return {
    [metric.learningRate]: rate,
    [metric.skippedSteps]: report?.applied === true ? 0 : 1,
    ...defined({ [metric.gradientNorm]: report === undefined ? undefined : report.gradientNorm }),
  };
}

/** Means over the mini-batches that have them, and maxima over all. */
function joined(reports: readonly PartReport[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { metrics } of reports) for (const name in metrics) counts[name] = (counts[name] ?? 0) + 1;
  return Object.fromEntries(
    Object.entries(addMetrics(reports)).map(([name, value]) => [name, value / (counts[name] ?? 1)]),
  );
}

/** Rollouts in random order, in parts of about equal size; rows of one rollout, and of one pair, stay together. */
export function splitRows<Row extends TrainRow>(rows: readonly Row[], parts: number, rng: Rng): Row[][] {
  if (parts <= 1) return [[...rows]];
  const units = shuffled(Map.groupBy(rows, ({ rollout, preference }) => preference?.pair ?? rollout).values(), rng);
  const count = Math.min(parts, units.length);
  const bound = (part: number) => Math.floor((part * units.length) / count);
  return Array.from({ length: count }, (_, part) => units.slice(bound(part), bound(part + 1)).flat());
}
