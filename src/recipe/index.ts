import "../check-node.ts";

export { type Ablated, withoutActionMask, withoutAdvantageMask } from "./ablations.ts";
export type { Claim } from "./claim.ts";
export type { ArmConfig, Beginning, BeginOptions, Comparison, Lab, Recipe, Trained } from "./recipe.ts";
export { type ComparisonResult, comparisonText, type RecipeResult, resultTable, type Trial } from "./recipe-result.ts";
export { type RunRecipeOptions, runRecipe } from "./run-recipe.ts";
