import { existsSync } from "node:fs";
import { LudusError } from "../errors.ts";
import type { Recipe } from "../recipe/recipe.ts";

// the same number of folders up from src/cli and from dist/cli; a package has them compiled
const places = ["../../recipes/index.ts", "../recipes/index.js"];

/** The recipes that come with ludus. */
export async function loadRecipes(): Promise<readonly Recipe[]> {
  const place = places.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));
  if (place === undefined) {
    throw new LudusError("no-recipes", {
      got: `nothing at ${places.join(" or ")}`,
      expected: "recipes with the package",
    });
  }
  const module: { recipes: readonly Recipe[] } = await import(place.href);
  return module.recipes;
}
