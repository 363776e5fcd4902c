import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import type { Recipe } from "../../recipe/recipe.ts";
import type { RecipeResult } from "../../recipe/recipe-result.ts";
import type { Command, Terminal } from "../command.ts";
import { columns } from "../help-text.ts";
import { LiveLine } from "../live-line.ts";
import { type OptionTable, type Parsed, parseOptions, usageError } from "../parse-options.ts";
import { stoppable } from "../stoppable.ts";
import { textTable } from "../text-table.ts";

const options = {
  seeds: { type: "number", summary: "run: number of seeds; 3 by default" },
  "first-seed": { type: "number", summary: "run: first seed; 0 by default" },
  budget: { type: "real", value: "minutes", summary: "run: time limit; start no seed that would exceed it" },
  out: { type: "string", value: "file", summary: "run: write all measurements, including curves, as JSON" },
  json: { type: "boolean", summary: "Print one JSON value on the last line" },
} as const satisfies OptionTable;

export const recipe: Command = {
  name: "recipe",
  summary: "Reproduce published systems in small, each with its baselines",
  usage: "list | run <system>",
  options,
  details: `list  The systems, and the claim of each recipe
run   Trains the method and its baselines from scratch for several seeds and prints the table, the claim and whether it holds.
      A claim holds when the 95 % intervals of method and baseline do not overlap`,
  example: "ludus recipe run search-r1 --seeds 3 --budget 30",
  async run(args, terminal) {
    const parsed = parseOptions(args, options);
    const [action] = parsed.positionals;
    if (action === "list") return list(parsed, terminal);
    if (action === "run") return run(parsed, terminal);
    const meant = nearest(action ?? "", ["list", "run"]);
    throw usageError("bad-usage", {
      got: action === undefined ? "nothing" : `"${action}"`,
      expected: "list or run",
      hint: meant === undefined ? "See ludus recipe --help." : `Did you mean "ludus recipe ${meant}"?`,
    });
  },
};

async function list({ values: { json } }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
  const recipes = await loadRecipes();
  const all = recipes.map(({ system, title, claim }) => ({ system, title, claim }));
  if (json) stdout.write(`${JSON.stringify(all)}\n`);
  else
    stdout.write(
      `${columns(
        all.flatMap(({ system, title, claim }): [string, string][] => [
          [system, title],
          ["", claim],
        ]),
      )}\n`,
    );
  return 0;
}

async function run({ values, positionals }: Parsed<typeof options>, terminal: Terminal): Promise<number> {
  const { runRecipe } = await import("../../recipe/run-recipe.ts");
  const { shortResult } = await import("../../recipe/recipe-result.ts");
  const chosen = await findRecipe(positionals[1]);
  const { stdout, stderr } = terminal;
  const { seeds = 3, "first-seed": firstSeed = 0, budget, out, json } = values;
  if (seeds < 1) throw usageError("bad-usage", { got: "--seeds 0", expected: "at least one seed" });
  stderr.write(`${chosen.title}: ${chosen.claim}\n`);
  return stoppable(terminal, async (signal) => {
    const line = new LiveLine(stderr);
    try {
      const result = await runRecipe(chosen, {
        seeds,
        firstSeed,
        signal,
        onProgress: (text) => line.show(text),
        ...defined({ budgetSeconds: budget !== undefined ? budget * 60 : undefined }),
        onSeed: () => line.end(),
      });
      if (out !== undefined) await writeFile(out, `${JSON.stringify(result)}\n`);
      stdout.write(await reportOf(result, seeds));
      if (json) stdout.write(`${JSON.stringify(shortResult(result))}\n`);
      return 0;
    } catch (error) {
      // what was interrupted is not a failure to explain
      if (signal.aborted) return 130;
      throw error;
    } finally {
      line.end();
    }
  });
}

async function findRecipe(name: string | undefined): Promise<Recipe> {
  const recipes = await loadRecipes();
  const found = recipes.find(({ system }) => system === name);
  if (found !== undefined) return found;
  const names = recipes.map(({ system }) => system);
  const meant = nearest(name ?? "", names);
  throw usageError("no-such-recipe", {
    got: name === undefined ? "no system" : `"${name}"`,
    expected: `one of ${names.join(", ")}`,
    ...defined({ hint: meant !== undefined ? `Did you mean "ludus recipe run ${meant}"?` : undefined }),
  });
}

async function reportOf(result: RecipeResult, seeds: number): Promise<string> {
  const { comparisonText, resultTable } = await import("../../recipe/recipe-result.ts");
  const rows = resultTable(result);
  const right = rows[0].map((_, column) => column).slice(1);
  const done = result.trials.length;
  const fewer = done < seeds ? `, ${seeds - done} fewer than asked for: the budget was spent` : "";
  return [
    `${textTable(rows, right)}`,
    `${done} ${done === 1 ? "seed" : "seeds"}${fewer}; 95 % intervals; ${Math.round(result.seconds)} s`,
    ...result.comparisons.map((comparison) => comparisonText(comparison)),
    "",
  ].join("\n");
}

// the same number of folders up from src/cli/commands and from dist/cli/commands; a package has them compiled
const places = ["../../../recipes/index.ts", "../../recipes/index.js"];

/** The recipes that come with ludus. */
async function loadRecipes(): Promise<readonly Recipe[]> {
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
