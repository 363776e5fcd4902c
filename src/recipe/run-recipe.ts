import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { openLab } from "./open-lab.ts";
import type { Recipe } from "./recipe.ts";
import { type RecipeResult, summarise, type Trial } from "./recipe-result.ts";

export interface RunRecipeOptions {
  /** How many; 3 by default. */
  seeds: number;
  /** The first of them. */
  firstSeed: number;
  /** No further seed is begun that would, by the time of those before, end later than this. The first is always finished. */
  budgetSeconds: number;
  signal: AbortSignal;
  onProgress: (line: string) => void;
  /** Called after each seed with what is known by then. */
  onSeed: (result: RecipeResult) => void;
}

const knownRunRecipeOptions: KnownOptions<RunRecipeOptions> = {
  seeds: true,
  firstSeed: true,
  budgetSeconds: true,
  signal: true,
  onProgress: true,
  onSeed: true,
};

const defaults: RunRecipeOptions = {
  seeds: 3,
  firstSeed: 0,
  budgetSeconds: Number.POSITIVE_INFINITY,
  signal: new AbortController().signal,
  onProgress: () => {},
  onSeed: () => {},
};

/** Trains a recipe's arms for each seed and tells what came of it. */
export async function runRecipe(recipe: Recipe, options: Partial<RunRecipeOptions> = {}): Promise<RecipeResult> {
  refuseUnknownOptions("runRecipe", options, knownRunRecipeOptions);
  const { seeds, firstSeed, budgetSeconds, signal, onProgress, onSeed } = { ...defaults, ...options };
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  const trials: Trial[] = [];
  for (let seed = firstSeed; seed < firstSeed + seeds; seed++) {
    const done = trials.length;
    if (done > 0 && elapsed() * ((done + 1) / done) > budgetSeconds) break;
    trials.push(await runTrial(recipe, seed, signal, onProgress));
    onSeed(summarise(recipe, trials, elapsed()));
  }
  return summarise(recipe, trials, elapsed());
}

async function runTrial(
  recipe: Recipe,
  seed: number,
  signal: AbortSignal,
  onProgress: (line: string) => void,
): Promise<Trial> {
  const arms: Record<string, Record<string, number>> = {};
  const curves: Record<string, Record<string, readonly number[]>> = {};
  const lab = openLab({
    seed,
    signal,
    onProgress,
    measure: (arm, measures) => {
      arms[arm] = { ...arms[arm], ...measures };
    },
    curve: (arm, name, values) => {
      curves[arm] = { ...curves[arm], [name]: values };
    },
  });
  try {
    await recipe.run(lab);
    return { seed, arms, curves };
  } finally {
    await lab.close();
  }
}
