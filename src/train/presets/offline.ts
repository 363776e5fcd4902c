import { keepAllGroups } from "../../credit/keep-all-groups.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { Aggregation } from "../../loss/aggregation.ts";
import { type DpoLossChoice, dpoLoss } from "../../loss/dpo-loss.ts";
import { imitation } from "../../loss/imitation.ts";
import { type KtoLossOptions, ktoLoss } from "../../loss/kto-loss.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import { learnable, type TrajectoryGroup } from "../../schema/trajectory-group.ts";
import type { Algorithm, Optimizer } from "../algorithm.ts";
import { type LearnRow, plainRow, temperatureOf } from "../learn-row.ts";
import type { Example, OfflineAlgorithm } from "../offline-algorithm.ts";
import { type PairSide, type PreferencePair, trajectoryPairs } from "../pairs.ts";
import { noCredit } from "./no-credit.ts";
import { type CommonOptions, commonDefaults, commonOptions, preset } from "./preset.ts";

export interface OfflineOptions extends Optimizer {
  /** Which rollouts are learned from. */
  filter: (trajectory: Trajectory) => boolean;
}

const optimizer: Optimizer = { learningRate: 5e-4, weightDecay: 0, beta2: 0.99, maxGradientNorm: 1 };

const optimizerOptions: KnownOptions<Optimizer> = {
  learningRate: true,
  weightDecay: true,
  beta2: true,
  maxGradientNorm: true,
};

export interface ImitateOfflineOptions extends OfflineOptions {
  aggregation: Aggregation;
}

const imitateOptions: KnownOptions<ImitateOfflineOptions> = { ...optimizerOptions, filter: true, aggregation: true };

/** Supervised fine-tuning: says what was said, and learns nothing from what was read. All sound rollouts by default. */
export function imitateOffline(options: Partial<ImitateOfflineOptions> = {}): OfflineAlgorithm {
  refuseUnknownOptions("imitateOffline", options, imitateOptions);
  const chosen = { ...optimizer, filter: () => true, aggregation: "token-mean" as const, ...options };
  const { filter, aggregation, learningRate, weightDecay, beta2, maxGradientNorm } = chosen;
  return {
    name: "imitate-offline",
    loss: imitation({ aggregation }),
    optimizer: { learningRate, weightDecay, beta2, maxGradientNorm },
    examples: (groups) => groups.flatMap((group, g) => rolloutExamples(group, `${g}`, filter)),
  };
}

export interface RejectionTuningOptions extends Omit<CommonOptions, "entropy" | "corrections"> {
  /** What is imitated; what succeeded by default. */
  filter: (trajectory: Trajectory) => boolean;
}

const { entropy: _entropy, corrections: _corrections, ...sampledOptions } = commonOptions;
const rejectionOptions: KnownOptions<RejectionTuningOptions> = { ...sampledOptions, filter: true };

/**
 * Rejection fine-tuning (STaR, RFT): attempts are sampled, a verifier rejects some, the others are imitated. The same object
 * serves `train`, where attempts are the policy's own of each step, and `trainOffline`.
 */
export function rejectionTuning(options: Partial<RejectionTuningOptions> = {}): Algorithm & OfflineAlgorithm {
  refuseUnknownOptions("rejectionTuning", options, rejectionOptions);
  const chosen = { ...commonDefaults, filter: ({ score }: Trajectory) => score.success, ...options };
  const loss = imitation({ aggregation: "token-mean" });
  return {
    ...preset("rejection-tuning", chosen, {
      credit: noCredit,
      loss,
      filter: () => keepAllGroups(),
      learnFrom: chosen.filter,
    }),
    examples: (groups) => groups.flatMap((group, g) => rolloutExamples(group, `${g}`, chosen.filter)),
  };
}

interface DpoSettings extends Optimizer {
  /** Which pairs to make of a group: `trajectoryPairs` by default; or `successPairs`, `stepPairs`, or your own. */
  pairs: (group: TrajectoryGroup) => readonly PreferencePair[];
  reference: "snapshot" | "stored";
}

export type DpoOptions = Partial<DpoSettings> & DpoLossChoice;

const dpoOptions: KnownOptions<DpoOptions> = {
  ...optimizerOptions,
  pairs: true,
  reference: true,
  beta: true,
  labelSmoothing: true,
  variant: true,
};

/** Direct preference optimization on pairs of attempts, or of single turns. */
export function dpo(options: DpoOptions = {}): OfflineAlgorithm {
  refuseUnknownOptions("dpo", options, dpoOptions);
  const { learningRate: _rate, weightDecay: _decay, beta2: _beta2, maxGradientNorm: _norm, ...own } = options;
  const { pairs = trajectoryPairs, reference = "snapshot", ...ofLoss } = own;
  return {
    name: "dpo",
    loss: dpoLoss(ofLoss),
    optimizer: optimizerOf({ ...optimizer, ...options }),
    reference,
    examples: (groups) => groups.flatMap((group) => pairs(group).map((pair) => pairExample(pair, reference))),
  };
}

export interface KtoOptions extends Optimizer, KtoLossOptions {
  /** What is to be done more often; what succeeded by default. */
  isDesirable: (trajectory: Trajectory) => boolean;
  reference: "snapshot" | "stored";
}

const ktoOptions: KnownOptions<KtoOptions> = {
  ...optimizerOptions,
  isDesirable: true,
  reference: true,
  beta: true,
  desirableWeight: true,
  undesirableWeight: true,
};

/** Kahneman-Tversky optimization: good and bad attempts, without pairs. */
export function kto(options: Partial<KtoOptions> = {}): OfflineAlgorithm {
  refuseUnknownOptions("kto", options, ktoOptions);
  const defaults = { beta: 0.1, desirableWeight: 1, undesirableWeight: 1, reference: "snapshot" as const };
  const isSuccess = ({ score }: Trajectory) => score.success;
  const { isDesirable, reference, beta, desirableWeight, undesirableWeight, ...rest } = {
    ...optimizer,
    ...defaults,
    isDesirable: isSuccess,
    ...options,
  };
  return {
    name: "kto",
    loss: ktoLoss({ beta, desirableWeight, undesirableWeight }),
    optimizer: optimizerOf(rest),
    reference,
    examples: (groups) =>
      groups.flatMap((group, g) =>
        rolloutTrajectories(group, () => true).map((trajectories) =>
          trajectories.map((trajectory): LearnRow => {
            const row = comparedRow({ trajectory }, `${g}`, reference);
            return { ...row, preference: { chosen: isDesirable(trajectory) } };
          }),
        ),
      ),
  };
}

function optimizerOf({ learningRate, weightDecay, beta2, maxGradientNorm }: Optimizer): Optimizer {
  return { learningRate, weightDecay, beta2, maxGradientNorm };
}

/** The trajectories of each rollout and role that is kept. */
function rolloutTrajectories(group: TrajectoryGroup, isMeant: (trajectory: Trajectory) => boolean): Trajectory[][] {
  const sound = learnable(group).filter((trajectory) => trajectory.mask_T.includes(1) && isMeant(trajectory));
  return [...Map.groupBy(sound, ({ rollout, role }) => `${rollout} ${role}`).values()];
}

function rolloutExamples(group: TrajectoryGroup, key: string, isMeant: (trajectory: Trajectory) => boolean): Example[] {
  return rolloutTrajectories(group, isMeant).map((members) => members.map((trajectory) => plainRow(trajectory, key)));
}

function pairExample({ chosen, rejected }: PreferencePair, reference: "snapshot" | "stored"): Example {
  const rows = (sides: readonly PairSide[], isChosen: boolean) =>
    sides.map((side): LearnRow => {
      const row = comparedRow(side, isChosen ? "chosen" : "rejected", reference);
      return { ...row, preference: { pair: 0, chosen: isChosen } };
    });
  return [...rows(chosen, true), ...rows(rejected, false)];
}

function comparedRow({ trajectory, turn }: PairSide, key: string, reference: "snapshot" | "stored"): LearnRow {
  const isStored = reference === "stored";
  const row = plainRow(trajectory, key, isStored ? temperatureOf(trajectory) : 1);
  const compared = isStored ? { ...row, referenceLogprobs_T: row.behaviourLogprobs_T } : row;
  if (turn === undefined) return compared;
  const { start, end } = trajectory.turns[turn].span;
  const mask_T = new Uint8Array(row.mask_T.length);
  mask_T.set(row.mask_T.subarray(start, end), start);
  return { ...compared, mask_T };
}
