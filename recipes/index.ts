import type { Recipe } from "ludus/recipe";
import { absoluteZero } from "./absolute-zero/recipe.ts";
import { agentFlan } from "./agent-flan/recipe.ts";
import { agentQ } from "./agent-q/recipe.ts";
import { agentR1 } from "./agent-r1/recipe.ts";
import { agentRlvr } from "./agent-rlvr/recipe.ts";
import { agentRlvrCode } from "./agent-rlvr-code/recipe.ts";
import { agentsMd } from "./agents-md/recipe.ts";
import { arealRecipe } from "./areal/recipe.ts";
import { codeRl } from "./code-rl/recipe.ts";
import { deepSwe } from "./deep-swe/recipe.ts";
import { echoTrap } from "./echo-trap/recipe.ts";
import { errorRecovery } from "./error-recovery/recipe.ts";
import { exploration } from "./exploration/recipe.ts";
import { hindsightRecipe } from "./hindsight/recipe.ts";
import { instructionHierarchy } from "./instruction-hierarchy/recipe.ts";
import { mathShepherd } from "./math-shepherd/recipe.ts";
import { offline } from "./offline/recipe.ts";
import { openVla } from "./openvla/recipe.ts";
import { ppoCoder } from "./ppo-coder/recipe.ts";
import { rZero } from "./r-zero/recipe.ts";
import { r1Zero } from "./r1-zero/recipe.ts";
import { ragen } from "./ragen/recipe.ts";
import { reftRecipe } from "./reft/recipe.ts";
import { rewardEnsembles } from "./reward-ensembles/recipe.ts";
import { searchRecipe } from "./search/recipe.ts";
import { searchR1 } from "./search-r1/recipe.ts";
import { selfRewarding } from "./self-rewarding/recipe.ts";
import { skillDisclosure } from "./skill-disclosure/recipe.ts";
import { skillLibrary } from "./skill-library/recipe.ts";
import { ssr } from "./ssr/recipe.ts";
import { sweRlRecipe } from "./swe-rl/recipe.ts";
import { toolRlRecipe } from "./tool-rl/recipe.ts";
import { uiR1 } from "./ui-r1/recipe.ts";
import { vpt } from "./vpt/recipe.ts";
import { vspoRecipe } from "./vspo/recipe.ts";
import { webAgentR1 } from "./webagent-r1/recipe.ts";
import { webGum } from "./webgum/recipe.ts";
import { webRl } from "./webrl/recipe.ts";

/** In the order `ludus recipe list` tells them. */
export const recipes: readonly Recipe[] = [
  ...[ragen, agentR1, toolRlRecipe, searchR1, agentRlvr, agentRlvrCode, uiR1],
  ...[reftRecipe, ppoCoder, codeRl, sweRlRecipe, deepSwe, ssr, webAgentR1, webRl, agentQ],
  ...[searchRecipe, mathShepherd, rewardEnsembles, selfRewarding, vspoRecipe, agentFlan, r1Zero],
  ...[hindsightRecipe, rZero, absoluteZero, echoTrap, arealRecipe, exploration, errorRecovery, offline],
  ...[instructionHierarchy, skillDisclosure, skillLibrary, agentsMd],
  ...[vpt, openVla, webGum],
];
