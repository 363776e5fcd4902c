import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { learningPages } from "../test/learning/report.ts";
import { asyncPages } from "./async/report.ts";
import { boxesPages } from "./boxes/report.ts";
import { enginePages } from "./engine/engine.ts";
import { gpuPages } from "./gpu/report.ts";
import { gpuTurnsPages } from "./gpu/turns/report.ts";
import { miniWobPages } from "./miniwob/report.ts";
import type { Pages } from "./pages.ts";
import { promptsPages } from "./prompts/prompts.ts";
import { quickstartPages } from "./quickstart/report.ts";
import { rolloutsPages } from "./rollouts/rollouts.ts";
import { scalingPages } from "./scaling/scaling.ts";
import { systemsPages } from "./systems/report.ts";
import { turnsPages } from "./turns/turns.ts";
import { learnsPages } from "./worlds/learns-report.ts";
import { worldsPages } from "./worlds/report.ts";

const makers: readonly ((root: string) => Pages)[] = [
  asyncPages,
  boxesPages,
  enginePages,
  gpuPages,
  gpuTurnsPages,
  learningPages,
  learnsPages,
  miniWobPages,
  promptsPages,
  quickstartPages,
  rolloutsPages,
  scalingPages,
  systemsPages,
  turnsPages,
  worldsPages,
];

/** Everything in docs/results, and the tables in the recipes' READMEs. */
export function allPages(root: string): Pages {
  return Object.assign({}, ...makers.map((make) => make(root)));
}

/** One line for each page that is not what its record gives, and for each that no record gives. */
export function pagesThatDiffer(root: string): string[] {
  const pages = allPages(root);
  const folder = "docs/results";
  const unknown = readdirSync(join(root, folder))
    .map((name) => `${folder}/${name}`)
    .filter((path) => !(path in pages))
    .map((path) => `${path}: made from no record`);
  const changed = Object.entries(pages).flatMap(([path, text]) => {
    const file = join(root, path);
    if (!existsSync(file)) return [`${path}: missing`];
    const line = firstDifference(readFileSync(file, "utf8"), text);
    return line === undefined ? [] : [`${path}:${line}: differs from what the record gives`];
  });
  return [...unknown, ...changed];
}

function firstDifference(a: string, b: string): number | undefined {
  if (a === b) return undefined;
  const [left, right] = [a.split("\n"), b.split("\n")];
  return left.findIndex((line, index) => line !== right[index]) + 1;
}
