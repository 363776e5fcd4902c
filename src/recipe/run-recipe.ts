import { defined } from "../defined.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { ArmRecord } from "./claim.ts";
import { openLab } from "./open-lab.ts";
import type { Recipe } from "./recipe.ts";
import { type RecipeResult, summarise } from "./recipe-result.ts";

export interface RunRecipeOptions {
  /** How many; 5 by default, and no claim holds with fewer. */
  seeds: number;
  /** The first of them. */
  firstSeed: number;
  /** No further seed is begun that would, by the time of those before, end later than this. The first is always finished. */
  budgetSeconds: number;
  /** Arms that are kept from before, and seeds of which all are: they are not run again. */
  kept: Kept;
  /** Only this part of all arms, of so many parts: seed by seed where there are as many parts as seeds or fewer. From 1. */
  shard: { readonly part: number; readonly of: number };
  /** Only arms that a claim compares. */
  isClaimedOnly: boolean;
  /** Evaluates on other held-out tasks than those that are reported: settings are chosen so. */
  isTuning: boolean;
  /** A folder of finished warm starts, so that a seed that is gone on with need not make them again. */
  cache: string | undefined;
  signal: AbortSignal;
  onProgress: (line: string) => void;
  /** Called when an arm has ended. */
  onArm: (record: ArmRecord) => void;
  /** Called when all arms of a seed have. */
  onWholeSeed: (seed: number) => void;
}

export interface Kept {
  readonly arms: readonly ArmRecord[];
  readonly wholeSeeds: readonly number[];
}

const knownRunRecipeOptions: KnownOptions<RunRecipeOptions> = {
  seeds: true,
  firstSeed: true,
  budgetSeconds: true,
  kept: true,
  shard: true,
  isClaimedOnly: true,
  isTuning: true,
  cache: true,
  signal: true,
  onProgress: true,
  onArm: true,
  onWholeSeed: true,
};

const defaults: RunRecipeOptions = {
  seeds: 5,
  firstSeed: 0,
  budgetSeconds: Number.POSITIVE_INFINITY,
  kept: { arms: [], wholeSeeds: [] },
  shard: { part: 1, of: 1 },
  isClaimedOnly: false,
  isTuning: false,
  cache: undefined,
  signal: new AbortController().signal,
  onProgress: () => {},
  onArm: () => {},
  onWholeSeed: () => {},
};

/** Trains a recipe's arms for each seed and tells what came of it. */
export async function runRecipe(recipe: Recipe, options: Partial<RunRecipeOptions> = {}): Promise<RecipeResult> {
  refuseUnknownOptions("runRecipe", options, knownRunRecipeOptions);
  const chosen = { ...defaults, ...options };
  const { seeds, firstSeed, budgetSeconds, kept } = chosen;
  const started = performance.now();
  const elapsed = () => (performance.now() - started) / 1000;
  const records = [...kept.arms];
  for (let index = 0; index < seeds; index++) {
    if (index > 0 && elapsed() * ((index + 1) / index) > budgetSeconds) break;
    const seed = firstSeed + index;
    const isDone = kept.wholeSeeds.includes(seed) || (chosen.isClaimedOnly && hasClaimedArms(recipe, records, seed));
    if (!isDone) await runSeed(recipe, { ...chosen, seed, index, records });
  }
  return summarise(recipe, records);
}

/** Of such a seed not even the warm start is made again. */
function hasClaimedArms(recipe: Recipe, records: readonly ArmRecord[], seed: number): boolean {
  const kept = new Set(records.filter((record) => record.seed === seed).map(({ arm }) => arm));
  return [...claimedArms(recipe)].every((arm) => kept.has(arm));
}

function claimedArms({ claims }: Recipe): ReadonlySet<string> {
  return new Set(claims.flatMap(({ method, baseline }) => [method, baseline]));
}

interface SeedOptions extends RunRecipeOptions {
  readonly seed: number;
  /** Among the seeds. */
  readonly index: number;
  readonly records: ArmRecord[];
}

async function runSeed(recipe: Recipe, options: SeedOptions): Promise<void> {
  const { seed, index, seeds, shard, records, isTuning, isClaimedOnly, cache, signal, onProgress } = options;
  const claimed = claimedArms(recipe);
  // whole seeds as long as there are no more parts than seeds; then each part has some arms of a seed
  const isMine = (arm: number) => (index + seeds * arm) % shard.of === shard.part - 1;
  const isBySeed = shard.of <= seeds;
  if (isBySeed && !isMine(0)) return;
  let arms = 0;
  const lab = openLab({
    ...{ seed, signal, onProgress, isTuning, isClaimedOnly, ...defined({ cache }) },
    wants(arm) {
      if (isClaimedOnly && !claimed.has(arm)) return false;
      const isKept = records.some((record) => record.seed === seed && record.arm === arm);
      return (isBySeed || isMine(arms++)) && !isKept;
    },
    keep(record) {
      records.push(record);
      options.onArm(record);
    },
  });
  try {
    await recipe.run(lab);
    if (isBySeed && !isClaimedOnly) options.onWholeSeed(seed);
  } finally {
    await lab.close();
  }
}
