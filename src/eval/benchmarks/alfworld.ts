import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { z } from "zod";
import { errorText, LudusError } from "../../errors.ts";
import { parseWith } from "../../schema/parse-with.ts";
import type { Benchmark, BenchmarkMessage, BenchmarkScore, BenchmarkTask, Chat } from "./benchmark.ts";
import { askPython, openPython, type PythonAttempt } from "./benchmark-bridge.ts";

const code = "bad-benchmark-data";
const gameFile = "game.tw-pddl";
/** As in the published evaluations. */
const mostSteps = 50;
const types = [
  ...["pick_and_place_simple", "look_at_obj_in_light", "pick_clean_then_place_in_recep"],
  ...["pick_heat_then_place_in_recep", "pick_cool_then_place_in_recep", "pick_two_obj_and_place"],
];
const Trajectory = z.looseObject({
  task_type: z.string(),
  turk_annotations: z.looseObject({ anns: z.array(z.looseObject({ task_desc: z.string() })) }).optional(),
});
const GameData = z.looseObject({ solvable: z.boolean() });
const Told = z.object({ say: z.string(), commands: z.array(z.string()) });
const Acted = Told.extend({ won: z.boolean(), done: z.boolean() });

const rule =
  "You do a task in a household. In each turn you read what happens and which commands are possible, and answer with one of these commands, alone on the last line.";

/** ALFWorld's text games, played in TextWorld: won or not within 50 commands. Games are chosen as the released environment chooses them. */
export const alfWorld: Benchmark = {
  name: "alfworld",
  description: "ALFWorld's text games of six kinds of household tasks",
  files: "a split such as valid_unseen/: folders with traj_data.json and game.tw-pddl; Python with alfworld",
  async load(folder) {
    const games = await gamesOf(folder);
    await askPython("alfworld", folder);
    return games;
  },
};

async function gamesOf(folder: string): Promise<readonly BenchmarkTask[]> {
  const paths = await listed(folder);
  const known = new Set(paths);
  const found = paths.filter((path) => path.endsWith("traj_data.json")).sort();
  const games: BenchmarkTask[] = [];
  for (const path of found) {
    const game = join(dirname(path), gameFile);
    if (/movable|Sliced/.test(path) || !known.has(game)) continue;
    const { task_type: category, turk_annotations: told } = await readJson(join(folder, path), Trajectory);
    if (!types.includes(category) || !(await readJson(join(folder, game), GameData)).solvable) continue;
    const text = told?.anns.map(({ task_desc }) => task_desc).join("\n") ?? "";
    games.push(toTask(folder, game, category, text));
  }
  if (games.length > 0) return games;
  throw new LudusError(code, {
    got: `${folder} with ${found.length} files traj_data.json and no game that can be played`,
    expected: `folders with traj_data.json and ${gameFile}`,
    hint: "alfworld-download fetches both; name the folder of a split, such as json_2.1.1/valid_unseen.",
  });
}

async function listed(folder: string): Promise<readonly string[]> {
  try {
    const paths = await readdir(folder, { recursive: true });
    if (paths.length > 0) return paths;
  } catch (cause) {
    throw new LudusError(code, {
      got: `the folder ${folder}: ${errorText(cause)}`,
      expected: "the folder with the published files of the benchmark",
      cause,
    });
  }
  throw new LudusError(code, { got: `${folder}, which holds nothing`, expected: `folders with ${gameFile}` });
}

async function readJson<Value>(path: string, schema: z.ZodType<Value>): Promise<Value> {
  let value: unknown;
  try {
    value = JSON.parse(await readFile(path, "utf8"));
  } catch (cause) {
    throw new LudusError(code, { got: `${path}: ${errorText(cause)}`, expected: "JSON", cause });
  }
  return parseWith(schema, value, path, code);
}

function toTask(folder: string, game: string, category: string, text: string): BenchmarkTask {
  return {
    id: dirname(game),
    text,
    category,
    async attempt(chat, { signal }) {
      await using python = await openPython("alfworld", folder, { task: game }, signal);
      return await play(python, chat);
    },
  };
}

async function play(python: PythonAttempt, chat: Chat): Promise<BenchmarkScore> {
  let told = Told.parse(python.begun);
  const messages: BenchmarkMessage[] = [{ role: "system", content: rule }];
  for (let step = 0; step < mostSteps; step++) {
    messages.push({ role: "user", content: `${told.say}\n\nCommands: ${told.commands.join(", ")}` });
    const { text } = await chat({ messages });
    messages.push({ role: "assistant", content: text });
    const acted = Acted.parse(await python.ask("act", { command: commandOf(text) }));
    if (acted.done || acted.won) return { success: acted.won, metrics: { steps: step + 1 } };
    told = acted;
  }
  return { success: false, metrics: { steps: mostSteps } };
}

function commandOf(text: string): string {
  const last = text.trim().split("\n").at(-1) ?? "";
  return last
    .replace(/^[>\s*-]+|[.\s*]+$/g, "")
    .slice(0, 200)
    .toLowerCase();
}
