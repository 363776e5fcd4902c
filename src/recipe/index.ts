import "../check-node.ts";

export { type Ablated, withoutActionMask, withoutAdvantageMask } from "./ablations.ts";
export type { ArmRecord, Claim, TaskValues, Verdict } from "./claim.ts";
export type { Arm, ArmConfig, Beginning, BeginOptions, Lab, Recipe, Trained } from "./recipe.ts";
export { type RecipeResult, resultTable, verdictText } from "./recipe-result.ts";
export { type Kept, type RunRecipeOptions, runRecipe } from "./run-recipe.ts";
