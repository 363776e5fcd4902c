import { LudusError } from "../errors.ts";
import { withoutHint } from "../guide/guidance/without-hint.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Loss } from "../loss/loss.ts";
import { outcomeRewardModel, processRewardModel } from "../loss/reward-model.ts";
import { lastMasked } from "../loss/tokens.ts";
import { aggregatedSteps, type ProcessModelOptions } from "../reward/learned.ts";
import type { Rollout } from "../rollout/rollout.ts";
import { stepLabelsOf } from "../rollout/search/step-labels.ts";
import { isInfrastructureStop } from "../schema/stop-reason.ts";
import type { Trajectory } from "../schema/trajectory.ts";
import type { Optimizer } from "./algorithm.ts";
import { fit } from "./fit.ts";
import { type LearnRow, plainRow } from "./learn-row.ts";
import type { LearningPolicy } from "./learning-policy.ts";
import { batchOf } from "./offline.ts";
import { forwardRows } from "./row-forward.ts";
import { noValues } from "./stages/measure.ts";

export interface ScorerOptions extends Optimizer {
  /** What an attempt is to be scored; 1 where it succeeded, else 0, by default. */
  labelOf: (trajectory: Trajectory) => number;
  epochs: number;
  /** Attempts a step. */
  batchSize: number;
  seed: number;
  /** What the weights are called in the engine. */
  weights: string;
}

const knownScorerOptions: KnownOptions<ScorerOptions> = {
  labelOf: true,
  epochs: true,
  batchSize: true,
  seed: true,
  weights: true,
  learningRate: true,
  weightDecay: true,
  beta2: true,
  maxGradientNorm: true,
};

const defaults: ScorerOptions = {
  learningRate: 5e-4,
  weightDecay: 0,
  beta2: 0.99,
  maxGradientNorm: 1,
  labelOf: ({ score }: Trajectory) => (score.success ? 1 : 0),
  epochs: 2,
  batchSize: 32,
  seed: 0,
  weights: "scorer",
};

/** A learned judge of whole attempts. Its weights are a copy of the policy's, with the value head on top. */
export interface Scorer {
  readonly examples: number;
  /** Of the last step. */
  readonly metrics: Readonly<Record<string, number>>;
  /** How likely an attempt is a success, 0 to 1: what `bestOfN` takes. */
  score(rollout: Pick<Rollout, "trajectories">): Promise<number>;
  /** Goes on learning, as a run goes on: a judge of attempts that are not made any more is soon wrong. */
  learn(trajectories: Iterable<Trajectory> | AsyncIterable<Trajectory>): Promise<void>;
  /** Frees the weights. */
  release(): Promise<void>;
}

/** A learned judge of turns. */
export interface StepScorerModel extends Scorer {
  /** How likely each turn leads to a success, 0 to 1. */
  steps(rollout: Pick<Rollout, "trajectories">): Promise<readonly number[]>;
}

/**
 * Trains an outcome reward model on what a run has stored, hints taken out:
 *
 *     const scorer = await trainScorer(policy, storedTrajectories(run));
 *     await bestOfN(report, scorer.score);
 */
export async function trainScorer(
  policy: LearningPolicy,
  trajectories: Trajectories,
  options: Partial<ScorerOptions> = {},
): Promise<Scorer> {
  refuseUnknownOptions("trainScorer", options, knownScorerOptions);
  const chosen = { ...defaults, ...options };
  return openScorer(policy, trajectories, chosen, {
    loss: outcomeRewardModel(),
    label(trajectory, row) {
      const label = chosen.labelOf(trajectory);
      return { ...row, reward: label, returns_T: new Float32Array(row.mask_T.length).fill(label) };
    },
    read: (row, values_T) => [sigmoid(values_T[lastMasked(row.mask_T)])],
    aggregate: ([score]) => score,
  });
}

export interface StepScorerOptions extends Omit<ScorerOptions, "labelOf"> {
  /** What each turn is to be scored, 0 to 1; those without a label are not learned from. Math-Shepherd's soft labels by default. */
  labelsOf: (trajectory: Trajectory) => readonly (number | undefined)[];
  /** What the scores of turns come to; the worst of them by default. */
  aggregate: ProcessModelOptions["aggregate"];
}

const { labelOf: _labelOf, ...knownCommon } = knownScorerOptions;
const knownStepScorerOptions: KnownOptions<StepScorerOptions> = { ...knownCommon, labelsOf: true, aggregate: true };

/** Trains a process reward model on attempts whose turns have labels, such as those made with `stepLabels()`. */
export async function trainStepScorer(
  policy: LearningPolicy,
  trajectories: Trajectories,
  options: Partial<StepScorerOptions> = {},
): Promise<StepScorerModel> {
  refuseUnknownOptions("trainStepScorer", options, knownStepScorerOptions);
  const { labelOf: _unused, ...common } = defaults;
  const labelsOf = (trajectory: Trajectory) => stepLabelsOf(trajectory);
  const chosen = { ...common, weights: "step-scorer", labelsOf, aggregate: "min" as const, ...options };
  return openScorer(policy, trajectories, chosen, {
    loss: processRewardModel(),
    label: (trajectory, row) => labelled(row, chosen.labelsOf(trajectory)),
    read: (row, values_T) =>
      row.turns.flatMap(({ start, end }) => {
        const last = lastMasked(row.mask_T, start, end);
        return last < 0 ? [] : [sigmoid(values_T[last])];
      }),
    aggregate: (steps) => aggregatedSteps(steps, chosen.aggregate),
  });
}

/** The row with its labels; turns without one are masked. */
function labelled(row: LearnRow, labels: readonly (number | undefined)[]): LearnRow | undefined {
  const returns_T = new Float32Array(row.mask_T.length);
  const mask_T = row.mask_T.slice();
  for (const [index, { start, end }] of row.turns.entries()) {
    const label = labels[index];
    if (label === undefined) mask_T.fill(0, start, end);
    else returns_T.fill(label, start, end);
  }
  const known = labels.filter((label) => label !== undefined);
  if (known.length === 0) return undefined;
  const mean = known.reduce((sum, label) => sum + label, 0) / known.length;
  return { ...row, mask_T, returns_T, reward: mean };
}

type Trajectories = Iterable<Trajectory> | AsyncIterable<Trajectory>;

interface ScorerKind {
  readonly loss: Loss;
  /** The row with what it is to be scored; undefined where nothing is known. */
  label(trajectory: Trajectory, row: LearnRow): LearnRow | undefined;
  /** The scores in a row. */
  read(row: LearnRow, values_T: Float32Array): readonly number[];
  aggregate(scores: readonly number[]): number;
}

async function openScorer(
  { engine }: LearningPolicy,
  trajectories: Trajectories,
  { epochs, batchSize, seed, weights, ...rest }: Omit<ScorerOptions, "labelOf">,
  kind: ScorerKind,
): Promise<StepScorerModel> {
  const { learningRate, weightDecay, beta2, maxGradientNorm } = rest;
  if (!engine.info.hasValues) throw noValues();
  const rows: LearnRow[] = [];
  const add = async (more: Trajectories) => {
    for await (const each of more) {
      if (isInfrastructureStop(each.stop) || !each.mask_T.includes(1)) continue;
      const row = kind.label(withoutHint(each), rowOf(each, weights, rows.length));
      if (row !== undefined) rows.push(row);
    }
  };
  const learn = (from: number) => {
    const examples = rows.slice(from).map((row) => [row]);
    const size = Math.min(batchSize, examples.length);
    return fit({
      engine,
      loss: kind.loss,
      optimizer: { learningRate, weightDecay, beta2, maxGradientNorm },
      seed,
      steps: Math.ceil((epochs * examples.length) / size),
      rows: (step) => batchOf(examples, step, size, seed).map((row) => ({ ...row, weights })),
    });
  };
  await add(trajectories);
  refuseEqualLabels(rows);
  if (engine.info.weights.includes(weights)) throw weightsInUse(weights);
  await engine.snapshot(weights, { trainable: true });
  let metrics = await learn(0);
  const scoresOf = async (attempt: readonly Trajectory[]) => {
    const last = attempt.findLast(({ role }) => role === attempt[0].role);
    if (last === undefined || !last.mask_T.includes(1)) return [];
    const row = rowOf(last, weights, 0);
    const { values_B_T } = await forwardRows(engine, [row], { weights });
    return kind.read(row, values_B_T![0]);
  };
  return {
    get examples() {
      return rows.length;
    },
    get metrics() {
      return metrics;
    },
    async score({ trajectories: attempt }) {
      const scores = await scoresOf(attempt);
      return scores.length === 0 ? 0 : kind.aggregate(scores);
    },
    steps: ({ trajectories: attempt }) => scoresOf(attempt),
    async learn(more) {
      const from = rows.length;
      await add(more);
      if (rows.length > from) metrics = await learn(from);
    },
    release: () => engine.release({ weights }),
  };
}

function refuseEqualLabels(rows: readonly LearnRow[]): void {
  const labels = new Set(rows.flatMap(({ returns_T, mask_T }) => [...returns_T!].filter((_, t) => mask_T[t] === 1)));
  if (labels.size >= 2) return;
  const expected = "successes and failures: a scorer learns to tell them apart";
  throw new LudusError("no-examples", { got: `${rows.length} sound attempts of ${labels.size} outcomes`, expected });
}

function rowOf(trajectory: Trajectory, weights: string, index: number): LearnRow {
  return { ...plainRow(withoutHint(trajectory), `${index}`), weights };
}

function sigmoid(value: number): number {
  return 1 / (1 + Math.exp(-value));
}

function weightsInUse(weights: string): LudusError {
  return new LudusError("bad-config", {
    got: `a scorer in the weights "${weights}", which exist`,
    expected: "weights of its own: training would change the other",
    hint: "Give it another name with `weights`, or release the other scorer first.",
  });
}
