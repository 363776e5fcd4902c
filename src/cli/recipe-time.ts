import type { Recipe } from "../recipe/recipe.ts";
import type { Kept } from "../recipe/run-recipe.ts";

export interface Planned {
  readonly seeds: number;
  readonly firstSeed: number;
  readonly jobs: number;
  /** Only arms that a claim compares. */
  readonly claimed: boolean;
  readonly file: string;
}

/** What there is to do, and how long it will take: by the arms that are kept, else by those that came with the recipe. */
export function beforehand(recipe: Recipe, kept: Kept, shipped: Kept, planned: Planned): string {
  const { seeds, firstSeed, jobs, file } = planned;
  const first = `${recipe.title}: ${recipe.claims.length} published claims, ${counted(seeds, "seed")}`;
  const left = Array.from({ length: seeds }, (_, i) => firstSeed + i).filter((s) => !isDone(recipe, kept, s, planned));
  const about = (source: Kept) =>
    `about ${counted(Math.ceil((left.length * longestSeed(recipe, source, planned)) / 60 / jobs), "minute")} without warm starts`;
  if (kept.arms.length > 0) {
    const news = left.length === 0 ? "nothing is left to run" : `${counted(left.length, "seed")} left, ${about(kept)}`;
    return `${first}; ${kept.arms.length} arms are kept in ${file} (--again makes them anew); ${news}`;
  }
  if (shipped.arms.length === 0) return `${first}; how long a seed takes is known when the first has ended`;
  const machines = [...new Set(shipped.arms.flatMap(({ about: made }) => made?.processor ?? []))];
  const where = machines.length === 0 ? "" : `, made on ${machines.join(", ")}`;
  return `${first}; ${about(shipped)}, by the recipe's records${where}`;
}

/** As `runRecipe` sees it: with `--claimed` a seed is done where all arms that a claim compares are kept. */
function isDone({ claims }: Recipe, { arms, wholeSeeds }: Kept, seed: number, { claimed }: Planned): boolean {
  if (wholeSeeds.includes(seed)) return true;
  const has = (name: string) => arms.some(({ seed: of, arm }) => of === seed && arm === name);
  return claimed && claims.every(({ method, baseline }) => has(method) && has(baseline));
}

function longestSeed({ claims }: Recipe, { arms }: Kept, { claimed }: Planned): number {
  const isMeant = (arm: string) =>
    !claimed || claims.some(({ method, baseline }) => method === arm || baseline === arm);
  const bySeed = [...Map.groupBy(arms, ({ seed }) => seed).values()];
  return Math.max(
    ...bySeed.map((some) => some.reduce((sum, { arm, seconds }) => sum + (isMeant(arm) ? seconds : 0), 0)),
  );
}

export function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
