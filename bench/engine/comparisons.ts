import { createRng } from "../../src/random.ts";
import type { Variant, Workload } from "../child/protocol.ts";
import { randomDerivatives_B_T, randomTokens_B_T } from "../random-rows.ts";

/** One workload, and everyone who computes it. */
export interface Comparison {
  name: ComparisonName;
  workload: Workload;
  /** Runs of each implementation in a round; more where a run is short. */
  repetitions: number;
  implementations: readonly Implementation[];
}

export type ComparisonName =
  | "train 16x128"
  | "train 64x160"
  | "sample 64x(32+128)"
  | "grpo step 64x(32+≤128)"
  | "grpo step 64x4 turns";

export interface Implementation {
  name: string;
  /** The ratio of a comparison is Ludus against the fastest baseline; an extra is for information. */
  role: "ludus" | "baseline" | "extra";
  variant: Variant;
}

const ludus: Implementation = { name: "Ludus", role: "ludus", variant: "default" };

const trainers: readonly Implementation[] = [
  ludus,
  { name: "PyTorch eager", role: "baseline", variant: "default" },
  { name: "PyTorch torch.compile", role: "extra", variant: "compiled" },
];

const samplers: readonly Implementation[] = [
  ludus,
  { name: "generate", role: "baseline", variant: "default" },
  { name: "generate, static cache", role: "baseline", variant: "static-cache" },
  { name: "generate, static cache, torch.compile", role: "extra", variant: "static-cache-compiled" },
];

export const policyTrainers: readonly Implementation[] = [
  ludus,
  { name: "TRL GRPOTrainer", role: "baseline", variant: "default" },
  { name: "TRL GRPOTrainer, static cache", role: "baseline", variant: "static-cache" },
];

export function makeComparisons(model: { folder: string; vocabularySize: number }): Comparison[] {
  const { folder, vocabularySize } = model;
  const rng = createRng(1);
  const train = (rows: number, length: number): Workload => ({
    kind: "train",
    model: { folder },
    tokens_B_T: randomTokens_B_T(rng, rows, length + 1, vocabularySize),
    derivatives_B_T: randomDerivatives_B_T(rng, rows, length + 1),
  });
  const sample: Workload = {
    kind: "sample",
    model: { folder },
    prompts_B_T: randomTokens_B_T(rng, 64, 32, vocabularySize),
    newTokens: 128,
  };
  return [
    { name: "train 16x128", workload: train(16, 128), repetitions: 8, implementations: trainers },
    { name: "train 64x160", workload: train(64, 160), repetitions: 3, implementations: trainers },
    { name: "sample 64x(32+128)", workload: sample, repetitions: 2, implementations: samplers },
    grpoStepComparison(folder),
  ];
}

/** Completions of one turn, in whole steps of training. */
export function grpoStepComparison(folder: string): Comparison {
  const workload: Workload = {
    kind: "grpo-step",
    model: { folder },
    prompts: [..."abcdefgh"].map((letter) => letter.repeat(32)),
    groupSize: 8,
    maxTokens: 128,
    temperature: 1,
    learningRate: 1e-4,
    maxGradientNorm: 1,
  };
  return { name: "grpo step 64x(32+≤128)", workload, repetitions: 2, implementations: policyTrainers };
}
