import { createRng } from "../../src/random.ts";
import { type Comparison, policyTrainers } from "../engine/comparisons.ts";
import type { SearchWorld } from "./search-env.ts";

export const turns = 4;
/** Replies have about 40. */
export const turnTokens = 64;
/** An agent that has imitated for a minute slips once in a few hundred tokens at temperature 1. */
export const temperature = 0.5;

const tasksPerStep = 8;
const groupSize = 8;

/** Episodes of several turns, in whole steps of training. */
export function turnsComparison(folder: string, { facts, drawTask }: SearchWorld): Comparison {
  const rng = createRng(1);
  return {
    name: "grpo step 64x4 turns",
    workload: {
      kind: "turns-step",
      model: { folder },
      tasks: Array.from({ length: 20 * tasksPerStep }, () => drawTask(rng)),
      facts,
      tasksPerStep,
      groupSize,
      turns,
      turnTokens,
      maxCompletionTokens: turns * 2 * turnTokens,
      temperature,
      // so small that the agent still calls its tool in every turn after the last round
      learningRate: 1e-5,
      maxGradientNorm: 1,
    },
    repetitions: 1,
    implementations: policyTrainers,
  };
}
