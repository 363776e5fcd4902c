import { readFileSync } from "node:fs";
import { join } from "node:path";
import { recipes } from "../../recipes/index.ts";
import { readArms } from "../../src/recipe/arm-file.ts";
import { leastSeeds } from "../../src/recipe/claim.ts";
import type { Recipe } from "../../src/recipe/recipe.ts";
import { type RecipeResult, resultTable, seedsOf, summarise, verdictText } from "../../src/recipe/recipe-result.ts";
import type { Pages } from "../pages.ts";
import { heldLine } from "./held-line.ts";
import { madeWith } from "./made-with.ts";

/** The text with what stands between two markers replaced. */
function between(text: string, name: string, content: string, file: string): string {
  const [open, close] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const [start, end] = [text.indexOf(open), text.indexOf(close)];
  if (start < 0 || end < 0) throw new Error(`${file} has no ${open} and ${close}`);
  return `${text.slice(0, start + open.length)}\n${content}\n${text.slice(end)}`;
}

const heldIn = ({ verdicts }: RecipeResult) => verdicts.filter(({ holds }) => holds).length;

function section(result: RecipeResult): string {
  const [heading, ...rows] = resultTable(result);
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  const rule = heading.map((_, column) => (column === 0 ? "---" : "--:"));
  const notes = new Set(result.records.flatMap(({ about }) => about?.note ?? []));
  const howMade = madeWith(result.records);
  const minutes = Math.round(result.records.reduce((sum, { seconds }) => sum + seconds, 0) / 60);
  return [
    `**${heldIn(result)} of ${result.verdicts.length} published claims hold here.**`,
    [line(heading), line(rule), ...rows.map(line)].join("\n"),
    `${seedsOf(result.records).length} seeds, 95 % intervals, ${minutes} minutes${howMade === "" ? "" : `; ${howMade}`}${notes.size === 0 ? "" : `; made ${[...notes].join(", ")}`}.`,
    result.verdicts.map((verdict) => `- ${verdictText(verdict)}`).join("\n"),
  ].join("\n\n");
}

function resultOf(root: string, recipe: Recipe): RecipeResult {
  return summarise(recipe, readArms(join(root, "recipes", recipe.system, "records.jsonl")).arms);
}

/** docs/results/systems.md and the table in each recipe's README, from the recipes' records.jsonl. */
export function systemsPages(root: string): Pages {
  const results = recipes.map((recipe) => resultOf(root, recipe));
  const readmes = results.map((result) => {
    const readme = `recipes/${result.system}/README.md`;
    const text = readFileSync(join(root, readme), "utf8");
    const headed = between(text, "held", heldLine(result.verdicts), readme);
    return [readme, between(headed, "result", section(result), readme)];
  });
  const held = results.reduce((sum, result) => sum + heldIn(result), 0);
  const all = results.reduce((sum, { verdicts }) => sum + verdicts.length, 0);
  const waiting = results.flatMap(({ verdicts }) => verdicts.filter(({ seeds }) => seeds < leastSeeds)).length;
  const page = `# Published systems in small

**${held} of ${all} published claims hold here.** ${waiting === 0 ? "" : `${waiting} are not decided: they have fewer than five seeds, or arms that have not been run yet. `}

Written by \`npm run results\` from \`recipes/*/records.jsonl\`, which \`npx ludus recipe run <system>\` makes with models from random weights. Under each table stands what its records say of
how they were made: engine, parameters, machine, version and commit; those of earlier versions say only processor, version and date. Claims are
declared in \`recipes/*/claims.ts\` before they are measured. A claim holds where the difference between its two arms, paired by seed and held-out task, is in the published direction, at least
as large as the smallest difference of interest, and has p below 0.05 by Holm's correction over the claims of its recipe, with at least five seeds. Each recipe says what differs from the published system, and
what was tried before its settings were what they are.

${results
  .map(
    (result) => `## ${result.title}\n\n[The recipe](../../recipes/${result.system}/README.md).\n\n${section(result)}\n`,
  )
  .join("\n")}`;
  return { ...Object.fromEntries(readmes), "docs/results/systems.md": page };
}
