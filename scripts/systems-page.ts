// Writes docs/results/systems.md and the table in each recipe's README from recipes/*/result.json, which
// `npx ludus recipe run <system> --out recipes/<system>/result.json` writes.
//
//     node scripts/systems-page.ts

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compareArms, comparisonText, type RecipeResult, resultTable } from "../src/recipe/recipe-result.ts";

const root = join(import.meta.dirname, "..");
const systems = ["ragen", "agent-r1", "tool-rl", "search-r1", "agent-rlvr", "ui-r1"];
const [open, close] = ["<!-- result -->", "<!-- /result -->"];

function readResult(system: string): RecipeResult | undefined {
  const file = join(root, "recipes", system, "result.json");
  return existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : undefined;
}

function section(result: RecipeResult): string {
  const [heading, ...rows] = resultTable(result);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = heading.map((_, column) => (column === 0 ? "---" : "--:"));
  return [
    [line(heading), line(rule), ...rows.map(line)].join("\n"),
    `${result.trials.length} seeds, 95 % intervals, ${Math.round(result.seconds / 60)} minutes on two cores.`,
    result.comparisons.map((one) => `- ${comparisonText(compareArms(one, result.trials))}`).join("\n"),
  ].join("\n\n");
}

const parts: string[] = [];
const missing: string[] = [];
for (const system of systems) {
  const result = readResult(system);
  if (result === undefined) {
    missing.push(system);
    continue;
  }
  const table = section(result);
  parts.push(
    `## ${result.title}\n\n${result.claim}: **${result.holds ? "holds" : "does not hold here"}**. [The recipe](../../recipes/${system}/README.md).\n\n${table}\n`,
  );
  const readme = join(root, "recipes", system, "README.md");
  const text = readFileSync(readme, "utf8");
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start < 0 || end < 0) throw new Error(`${readme} has no ${open} and ${close}`);
  writeFileSync(readme, `${text.slice(0, start + open.length)}\n${table}\n${text.slice(end)}`);
}
const page = `# Published systems in small

Written by \`node scripts/systems-page.ts\` from what \`npx ludus recipe run <system> --seeds 3 --out …\` measured: models of about
0.3M parameters from random weights, on two cores. A statement holds when the 95 % intervals (Student's t over seeds) of both
sides do not overlap; arms of a seed start from the same weights, so the difference within seeds is the finer look. The figures are of held-out tasks; each recipe says what was tried before its settings were what they are.

`;
const rest = missing.length === 0 ? "" : `\nNot measured yet with three seeds: ${missing.join(", ")}.\n`;
writeFileSync(join(root, "docs/results/systems.md"), `${page}${parts.join("\n")}${rest}`);
