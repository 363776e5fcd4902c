// Copies the recipes' records into dist/recipes, without tasks and curves: the package tells by them how long a recipe takes.

import { existsSync, globSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { appendArm, readArms } from "../src/recipe/arm-file.ts";

const root = join(import.meta.dirname, "..");
const to = process.argv[2] ?? join(root, "dist/recipes");
if (!existsSync(to)) throw new Error(`${to} is not there: build the recipes first`);

for (const path of globSync("*/records.jsonl", { cwd: join(root, "recipes") })) {
  mkdirSync(dirname(join(to, path)), { recursive: true });
  writeFileSync(join(to, path), "");
  for (const { seed, arm, seconds, about } of readArms(join(root, "recipes", path)).arms) {
    appendArm(join(to, path), { seed, arm, measures: {}, seconds, ...(about === undefined ? {} : { about }) });
  }
}
