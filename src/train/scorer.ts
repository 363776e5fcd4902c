import { LudusError } from "../errors.ts";
import { withoutHint } from "../guide/guidance/without-hint.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { outcomeRewardModel } from "../loss/reward-model.ts";
import { lastMasked } from "../loss/tokens.ts";
import type { Rollout } from "../rollout/rollout.ts";
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
  /** Frees the weights. */
  release(): Promise<void>;
}

/**
 * Trains an outcome reward model on what a run has stored, hints taken out:
 *
 *     const scorer = await trainScorer(policy, storedTrajectories(run));
 *     await bestOfN(report, scorer.score);
 */
export async function trainScorer(
  policy: LearningPolicy,
  trajectories: Iterable<Trajectory> | AsyncIterable<Trajectory>,
  options: Partial<ScorerOptions> = {},
): Promise<Scorer> {
  refuseUnknownOptions("trainScorer", options, knownScorerOptions);
  const { engine } = policy;
  const { labelOf, epochs, batchSize, seed, weights, ...optimizer } = { ...defaults, ...options };
  if (!engine.info.hasValues) throw noValues();
  const rows: LearnRow[] = [];
  for await (const each of trajectories) {
    if (!isInfrastructureStop(each.stop) && each.mask_T.includes(1))
      rows.push(rowOf(each, labelOf, weights, rows.length));
  }
  const labels = new Set(rows.map(({ reward }) => reward));
  if (labels.size < 2) {
    const expected = "successes and failures: a scorer learns to tell them apart";
    throw new LudusError("no-examples", { got: `${rows.length} sound attempts of ${labels.size} outcomes`, expected });
  }
  if (!engine.info.weights.includes(weights)) await engine.snapshot(weights, { trainable: true });
  const examples = rows.map((row) => [row]);
  const size = Math.min(batchSize, rows.length);
  const metrics = await fit({
    engine,
    loss: outcomeRewardModel(),
    optimizer,
    seed,
    steps: Math.ceil((epochs * rows.length) / size),
    rows: (step) => batchOf(examples, step, size, seed).map((row) => ({ ...row, weights })),
  });
  return {
    examples: rows.length,
    metrics,
    async score({ trajectories: attempt }) {
      const last = attempt.findLast(({ role }) => role === attempt[0].role);
      if (last === undefined || !last.mask_T.includes(1)) return 0;
      const row = rowOf(last, () => 0, weights, 0);
      const { values_B_T } = await forwardRows(engine, [row], { weights });
      return 1 / (1 + Math.exp(-values_B_T![0][lastMasked(row.mask_T)]));
    },
    release: () => engine.release({ weights }),
  };
}

function rowOf(trajectory: Trajectory, labelOf: ScorerOptions["labelOf"], weights: string, index: number): LearnRow {
  const label = labelOf(trajectory);
  const row = plainRow(withoutHint(trajectory), `${index}`);
  return { ...row, weights, reward: label, returns_T: new Float32Array(row.mask_T.length).fill(label) };
}
