import { skipUniform } from "../../credit/skip-uniform.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { KnownOptions } from "../../known-options.ts";
import type { Aggregation } from "../../loss/aggregation.ts";
import { sumLosses } from "../../loss/combine.ts";
import type { Correction } from "../../loss/corrections.ts";
import { entropyBonus } from "../../loss/entropy-bonus.ts";
import type { KlEstimator } from "../../loss/kl.ts";
import { klPenalty } from "../../loss/kl.ts";
import { fixedKl, type KlController } from "../../loss/kl-controller.ts";
import type { Loss } from "../../loss/loss.ts";
import type { Algorithm } from "../algorithm.ts";
import type { LearningRate, Schedule } from "../schedule.ts";

/** What every preset lets its user choose. Each preset has a type of its own besides: an option it does not use is refused. */
export interface CommonOptions {
  /** Attempts at each task. */
  groupSize: number;
  /** A number, a schedule such as `cosine(3e-4, 0.1)`, or what follows from the number of parameters: "by-size", the default, or "by-size-falling". */
  learningRate: LearningRate;
  /** Times a batch is gone through, in this many parts. */
  epochs: number;
  miniBatches: number;
  temperature: Schedule;
  topP?: number;
  topK?: number;
  /** Exploration: how often a turn is made to begin with a call of a random tool. */
  epsilonTool?: number;
  weightDecay: number;
  beta2: number;
  maxGradientNorm: number;
  /** Coefficient of an entropy bonus. */
  entropy: number;
  /** For what another policy sampled than the one that learns: replayed groups, rollouts that lag behind. */
  corrections: readonly Correction[];
}

export const commonDefaults: CommonOptions = {
  groupSize: 8,
  learningRate: "by-size",
  epochs: 1,
  miniBatches: 1,
  temperature: 1,
  weightDecay: 0,
  beta2: 0.99,
  maxGradientNorm: 1,
  entropy: 0,
  corrections: [],
};

export const commonOptions: KnownOptions<CommonOptions> = {
  groupSize: true,
  learningRate: true,
  epochs: true,
  miniBatches: true,
  temperature: true,
  topP: true,
  topK: true,
  epsilonTool: true,
  weightDecay: true,
  beta2: true,
  maxGradientNorm: true,
  entropy: true,
  corrections: true,
};

/** The parts of an algorithm that follow from the common options; groups that are all alike are left out by default. */
export function preset(
  name: string,
  options: CommonOptions,
  rest: Pick<Algorithm, "credit" | "loss"> & Partial<Algorithm>,
): Algorithm {
  const { temperature, topP, topK, epsilonTool, learningRate, weightDecay, beta2, maxGradientNorm } = options;
  checkSchedule(`learningRate of ${name}`, learningRate, ["by-size", "by-size-falling"]);
  checkSchedule(`temperature of ${name}`, temperature);
  if (!(topP === undefined || (topP > 0 && topP <= 1))) {
    throw new LudusError("bad-option", { got: `topP ${topP} of ${name}`, expected: "above 0, at most 1" });
  }
  return {
    name,
    groupSize: options.groupSize,
    epochs: options.epochs,
    miniBatches: options.miniBatches,
    sampling: {
      temperature,
      ...defined({ topP, topK, epsilonTool }),
    },
    filter: () => skipUniform(),
    optimizer: { learningRate, weightDecay, beta2, maxGradientNorm },
    maskStops: [],
    options: { ...options },
    ...rest,
  };
}

function checkSchedule(what: string, value: unknown, words: readonly string[] = []): void {
  if (typeof value === "function" || (typeof value === "number" && value >= 0 && Number.isFinite(value))) return;
  if (words.includes(value as string)) return;
  throw new LudusError("bad-option", {
    got: `${what}: ${JSON.stringify(value) ?? String(value)}`,
    expected: [
      "a number of at least 0, or a schedule such as cosine(1e-3, 0.1)",
      ...words.map((word) => `"${word}"`),
    ].join(", or "),
  });
}

export interface Terms {
  readonly entropy: number;
  readonly aggregation: Aggregation;
  /** A penalty for leaving the reference policy; no reference is kept where it is 0. */
  readonly kl?: { readonly coefficient: number; readonly estimator?: KlEstimator };
}

/** A policy loss and what is added to it. Terms whose coefficient is 0 cost nothing. */
export function withTerms(loss: Loss, { entropy, aggregation, kl }: Terms, ...more: Loss[]): Loss {
  checkCoefficient("entropy", entropy);
  checkCoefficient("kl", kl?.coefficient ?? 0);
  const terms = [
    ...(kl !== undefined && kl.coefficient > 0 ? [klPenalty({ estimator: "k3", aggregation, ...kl })] : []),
    ...(entropy > 0 ? [entropyBonus({ coefficient: entropy, aggregation })] : []),
    ...more,
  ];
  return terms.length === 0 ? loss : sumLosses([loss, ...terms]);
}

/** A penalty in the reward; none where the coefficient is 0 for good. */
export function inReward(kl: number | KlController): Pick<Algorithm, "klInReward"> {
  const controller = typeof kl === "number" ? fixedKl(kl) : kl;
  return controller.initial === 0 && controller.isFixed === true ? {} : { klInReward: controller };
}

// a coefficient below 0, or none that is a number, would be taken for 0
function checkCoefficient(name: string, value: number): void {
  if (value >= 0 && Number.isFinite(value)) return;
  throw new LudusError("bad-option", { got: `${name} ${value}`, expected: "a coefficient of 0 or more" });
}
