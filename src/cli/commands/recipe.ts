import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { nearest } from "../../nearest.ts";
import { appendArm, checkWritable, readArms, trialOf } from "../../recipe/arm-file.ts";
import type { ArmRecord } from "../../recipe/claim.ts";
import type { Recipe } from "../../recipe/recipe.ts";
import type { RecipeResult } from "../../recipe/recipe-result.ts";
import type { Kept, RunRecipeOptions } from "../../recipe/run-recipe.ts";
import type { Command, Terminal } from "../command.ts";
import { columns } from "../help-text.ts";
import { LiveLine } from "../live-line.ts";
import { type OptionTable, type Parsed, parseOptions, usageError } from "../parse-options.ts";
import { beforehand, counted } from "../recipe-time.ts";
import { stoppable } from "../stoppable.ts";
import { textTable } from "../text-table.ts";

const options = {
  seeds: { type: "number", summary: "run, tune: number of seeds; 5 by default, 1 for tune" },
  "first-seed": { type: "number", summary: "run, tune: first seed; 0 by default, 100 for tune" },
  budget: { type: "real", value: "minutes", summary: "run: time limit; start no seed that would exceed it" },
  records: {
    type: "string",
    value: "file",
    summary: "run, merge, tune: where finished arms are kept; runs/recipe-<system>.jsonl by default",
  },
  again: { type: "boolean", summary: "run: make arms anew that are kept already" },
  claimed: { type: "boolean", summary: "run, tune: only arms that a claim compares" },
  jobs: { type: "number", summary: "run: processes at once, which share the cores; 1 by default" },
  shard: {
    type: "string",
    value: "part/of",
    summary: "run: only this part of all arms, such as 2/5; merge puts parts together",
  },
  json: { type: "boolean", summary: "Print one JSON value on the last line" },
} as const satisfies OptionTable;

type Values = Parsed<typeof options>["values"];

const actions = { list, run, tune, merge };

export const recipe: Command = {
  name: "recipe",
  summary: "Reproduce published systems in small, each with its baselines",
  usage: "list | run <system> | tune <system> | merge <system> <file>...",
  options,
  details: `list   The systems, and what each recipe is to show
run    Trains all arms from scratch for several seeds and prints the table and the published claims. A claim holds when the
       difference is in the wanted direction, at least the smallest of interest, and p < 0.05 (paired, Holm's correction).
       Every arm that ends is kept in a file at once; a run that was stopped goes on there
tune   The same on other held-out tasks, to choose settings. No claim is judged. Every trial is kept, with its commit:
       in recipes/<system>/trials.jsonl of a checkout of Ludus, else in runs/recipe-<system>-trials.jsonl
merge  Puts files of several machines into one, and prints what is in it`,
  example: "ludus recipe run search-r1 --jobs 2",
  async run(args, terminal) {
    const parsed = parseOptions(args, options);
    const [action = ""] = parsed.positionals;
    if (isAction(action)) return actions[action](parsed, terminal);
    const meant = nearest(action, Object.keys(actions));
    throw usageError("bad-usage", {
      got: action === "" ? "nothing" : `"${action}"`,
      expected: "list, run, tune or merge",
      hint: meant === undefined ? "See ludus recipe --help." : `Did you mean "ludus recipe ${meant}"?`,
    });
  },
};

function isAction(name: string): name is keyof typeof actions {
  return Object.hasOwn(actions, name);
}

async function list({ values: { json } }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
  const recipes = await loadRecipes();
  const all = recipes.map(({ system, title, claims }) => ({
    ...{ system, title },
    claims: claims.map(({ statement }) => statement),
  }));
  if (json) stdout.write(`${JSON.stringify(all)}\n`);
  else
    stdout.write(
      `${columns(
        all.flatMap(({ system, title, claims }): [string, string][] => [
          [system, title],
          ...claims.map((claim): [string, string] => ["", claim]),
        ]),
      )}\n`,
    );
  return 0;
}

async function run({ values, positionals }: Parsed<typeof options>, terminal: Terminal): Promise<number> {
  const chosen = await findRecipe(positionals[1]);
  const { seeds = 5, "first-seed": firstSeed = 0, budget, jobs = 1, again, claimed = false, json } = values;
  if (seeds < 1) throw usageError("bad-usage", { got: `--seeds ${seeds}`, expected: "at least one seed" });
  if (jobs < 1) throw usageError("bad-usage", { got: `--jobs ${jobs}`, expected: "at least one process" });
  const shard = readShard(values.shard);
  if (shard !== undefined && jobs > 1) {
    throw usageError("bad-usage", {
      got: "--shard and --jobs",
      expected: "one of them: --jobs makes shards of its own",
    });
  }
  const file = recordsFile(chosen, values);
  if (again) await rm(file, { force: true });
  checkWritable(file);
  const kept = readArms(file);
  terminal.stderr.write(
    `${beforehand(chosen, kept, shippedArms(chosen), { seeds, firstSeed, jobs, claimed, file })}\n`,
  );
  return stoppable(terminal, async (signal) => {
    if (jobs > 1) {
      const { stderr } = terminal;
      await runJobs(chosen.system, { seeds, firstSeed, jobs, claimed, file, signal, stderr });
    } else {
      const { aboutArms } = await import("../../recipe/about-arms.ts");
      const about = aboutArms(new Date());
      await runHere(chosen, terminal, {
        ...{ seeds, firstSeed, kept, signal, isClaimedOnly: claimed, cache: join(dirname(file), ".warm-starts") },
        ...defined({ budgetSeconds: budget === undefined ? undefined : budget * 60, shard }),
        onArm: (record) => appendArm(file, { ...record, about: { ...about, ...record.about } }),
        onWholeSeed: (seed) => appendArm(file, { seed, whole: true }),
      });
    }
    if (signal.aborted) return 130;
    await report(chosen, readArms(file).arms, terminal.stdout, json);
    return 0;
  });
}

async function tune({ values, positionals }: Parsed<typeof options>, terminal: Terminal): Promise<number> {
  const chosen = await findRecipe(positionals[1]);
  const { seeds = 1, "first-seed": firstSeed = 100, claimed = false } = values;
  const { aboutArms, checkout } = await import("../../recipe/about-arms.ts");
  const about = aboutArms(new Date());
  const name = chosen.system;
  const source = checkout === undefined ? undefined : join(checkout, "recipes", name, "trials.jsonl");
  const file = values.records ?? source ?? join("runs", `recipe-${name}-trials.jsonl`);
  checkWritable(file);
  return stoppable(terminal, async (signal) => {
    const how = { seeds, firstSeed, signal, isClaimedOnly: claimed, isTuning: true };
    const onArm = (trial: ArmRecord) => appendArm(file, trialOf(trial, about));
    const result = await runHere(chosen, terminal, { ...how, onArm });
    if (result === undefined) return 130;
    const { resultTable } = await import("../../recipe/recipe-result.ts");
    terminal.stdout.write(tableText(resultTable(result)));
    terminal.stderr.write(`kept in ${file}\n`);
    return 0;
  });
}

async function merge({ values, positionals }: Parsed<typeof options>, { stdout }: Terminal): Promise<number> {
  const chosen = await findRecipe(positionals[1]);
  const files = positionals.slice(2);
  const missing = files.find((file) => !existsSync(file));
  if (files.length === 0 || missing !== undefined) {
    const got = missing === undefined ? "no file" : `"${missing}", which is not there`;
    throw usageError("bad-usage", { got, expected: "files of ludus recipe run --records" });
  }
  const file = recordsFile(chosen, values);
  const known = new Set(readArms(file).arms.map(({ seed, arm }) => `${seed} ${arm}`));
  for (const { arms, wholeSeeds } of files.map(readArms)) {
    for (const arm of arms.filter(({ seed, arm: name }) => !known.has(`${seed} ${name}`))) {
      known.add(`${arm.seed} ${arm.arm}`);
      appendArm(file, arm);
    }
    for (const seed of wholeSeeds) appendArm(file, { seed, whole: true });
  }
  await report(chosen, readArms(file).arms, stdout, values.json);
  return 0;
}

function recordsFile({ system }: Recipe, { records }: Values): string {
  return records ?? join("runs", `recipe-${system}.jsonl`);
}

function readShard(text: string | undefined): RunRecipeOptions["shard"] | undefined {
  if (text === undefined) return undefined;
  const [part, of] = (/^(\d+)\/(\d+)$/.exec(text) ?? []).slice(1).map(Number);
  if (part >= 1 && part <= of) return { part, of };
  throw usageError("bad-usage", { got: `--shard ${text}`, expected: "a part of so many, from 1, such as 2/5" });
}

/** Undefined where it was stopped. */
async function runHere(
  chosen: Recipe,
  { stderr }: Terminal,
  how: Partial<RunRecipeOptions> & { signal: AbortSignal },
): Promise<RecipeResult | undefined> {
  const { runRecipe } = await import("../../recipe/run-recipe.ts");
  const line = new LiveLine(stderr);
  try {
    return await runRecipe(chosen, { ...how, onProgress: (text) => line.show(text) });
  } catch (error) {
    // what was interrupted is not a failure to explain
    if (how.signal.aborted) return undefined;
    throw error;
  } finally {
    line.end();
  }
}

interface Jobs {
  seeds: number;
  firstSeed: number;
  jobs: number;
  claimed: boolean;
  file: string;
  signal: AbortSignal;
  stderr: Terminal["stderr"];
}

/** So many processes, each with a shard; they keep their arms in the same file. */
async function runJobs(system: string, options: Jobs): Promise<void> {
  const { seeds, firstSeed, jobs, claimed, file, signal, stderr } = options;
  // one thread too many in each costs more than it brings
  const threads = Math.max(1, Math.floor(availableParallelism() / jobs));
  const env = { LUDUS_THREADS: String(threads), ...process.env };
  const runShard = (part: number) =>
    new Promise<void>((resolve, reject) => {
      const args = [
        "recipe",
        "run",
        system,
        "--seeds",
        seeds,
        "--first-seed",
        firstSeed,
        "--records",
        file,
        ...(claimed ? ["--claimed"] : []),
      ];
      const child = spawn(process.execPath, [process.argv[1], ...args.map(String), "--shard", `${part}/${jobs}`], {
        stdio: ["ignore", "ignore", "pipe"],
        env,
        signal,
      });
      const lines = createInterface({ input: child.stderr });
      let last = "";
      lines.on("line", (text) => {
        last = text;
        stderr.write(`${part}/${jobs} ${text}\n`);
      });
      child.on("error", (error) => (signal.aborted ? resolve() : reject(error)));
      child.on("close", (code) => {
        if (code === 0 || signal.aborted) return resolve();
        reject(new LudusError("child-failed", { got: `shard ${part}/${jobs}: ${last}`, expected: "arms that end" }));
      });
    });
  const ended = await Promise.allSettled(Array.from({ length: jobs }, (_, i) => runShard(i + 1)));
  const failed = ended.find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}

async function report(
  chosen: Recipe,
  arms: readonly ArmRecord[],
  stdout: Terminal["stdout"],
  json: boolean | undefined,
): Promise<void> {
  const { resultTable, seedsOf, shortResult, summarise, verdictText } = await import("../../recipe/recipe-result.ts");
  const result = summarise(chosen, arms);
  const held = result.verdicts.filter(({ holds }) => holds).length;
  const seeds = seedsOf(arms).length;
  stdout.write(tableText(resultTable(result)));
  stdout.write(
    [
      `${counted(seeds, "seed")}; 95 % intervals`,
      `${held} of ${result.verdicts.length} published claims hold here`,
      ...result.verdicts.map((verdict) => `- ${verdictText(verdict)}`),
      "",
    ].join("\n"),
  );
  if (json) stdout.write(`${JSON.stringify(shortResult(result))}\n`);
}

function tableText(rows: string[][]): string {
  return `${textTable(rows, rows[0].map((_, column) => column).slice(1))}\n`;
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

// the same number of folders up from src/cli/commands and from dist/cli/commands; a package has them compiled
const places = ["../../../recipes/index.ts", "../../recipes/index.js"];

const findPlace = () => places.map((path) => new URL(path, import.meta.url)).find((url) => existsSync(url));

/** Those that came with the recipe; in a package without their tasks and curves. */
function shippedArms({ system }: Recipe): Kept {
  const place = findPlace();
  if (place === undefined) return { arms: [], wholeSeeds: [] };
  return readArms(fileURLToPath(new URL(`${system}/records.jsonl`, place)));
}

/** The recipes that come with ludus. */
async function loadRecipes(): Promise<readonly Recipe[]> {
  const place = findPlace();
  if (place === undefined) {
    throw new LudusError("no-recipes", {
      got: `nothing at ${places.join(" or ")}`,
      expected: "recipes with the package",
    });
  }
  const module: { recipes: readonly Recipe[] } = await import(place.href);
  return module.recipes;
}
