import type { Recipe } from "ludus/recipe";
import { agentR1 } from "./agent-r1/recipe.ts";
import { agentRlvr } from "./agent-rlvr/recipe.ts";
import { ragen } from "./ragen/recipe.ts";
import { searchR1 } from "./search-r1/recipe.ts";
import { toolRlRecipe } from "./tool-rl/recipe.ts";
import { uiR1 } from "./ui-r1/recipe.ts";

/** In the order `ludus recipe list` tells them. */
export const recipes: readonly Recipe[] = [ragen, agentR1, toolRlRecipe, searchR1, agentRlvr, uiR1];
