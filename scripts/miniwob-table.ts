// Plays every page of MiniWoB++ with a random player and, where there is one, the scripted expert, and writes `bench/results/miniwob.json`; `npm run results` makes the table of it.
//
//     LUDUS_BROWSER=/usr/bin/chromium-headless-shell npx node scripts/miniwob-table.ts <folder of miniwob/html> [episodes]

import { writeFileSync } from "node:fs";
import { miniWob, miniWobPages } from "../src/env/browser/mini-wob.ts";
import { Episode } from "../src/env/episode.ts";
import { createRng } from "../src/random.ts";
import { mapWithLimit } from "./map-with-limit.ts";

const [folder, count = "3"] = process.argv.slice(2);
const episodes = Number(count);
const { signal } = new AbortController();

async function play(page: string, index: number, isExpert: boolean): Promise<number | undefined> {
  const env = environments.get(page)!;
  const task = await env.tasks.at("test", index);
  const episode = new Episode(env, task, { signal });
  const rng = createRng(task.seed);
  let next = await episode.start();
  while ("role" in next) {
    const possible = episode.possibleTexts();
    const said = isExpert ? episode.expertSays() : possible[rng.integer(possible.length)];
    if (said === undefined) next = { stop: "completed" };
    else next = await episode.step(said);
  }
  const wasStuck = isExpert && episode.turns.length === 0;
  const { stop, scores } = await episode.finish(next);
  if (wasStuck) return undefined;
  return stop === "completed" || stop === "max-turns" ? Number(scores.agent.success) : Number.NaN;
}

const names = miniWobPages(folder);
const chromium = { browsers: 2 };
const one = miniWob({ folder, chromium, turns: 5, actionMs: 8000 });
// one pool of browsers for all pages
const environments = new Map(
  names.map((page) => [
    page,
    {
      ...one,
      tasks: {
        ...one.tasks,
        at: async (split: string, index: number) => {
          const task = await one.tasks.at(split, index);
          return { ...task, data: { ...task.data, page } };
        },
      },
    },
  ]),
);

const rows = await mapWithLimit(names, 6, async (page) => {
  const random: (number | undefined)[] = [];
  const expert: (number | undefined)[] = [];
  for (let index = 0; index < episodes; index++) {
    random.push(await play(page, index, false));
    expert.push(await play(page, index, true));
  }
  process.stderr.write(`${page}: ${random} | ${expert}\n`);
  return { page, random: share(random), expert: share(expert) };
});

function share(results: readonly (number | undefined)[]): string {
  const known = results.filter((result) => result !== undefined);
  if (known.length === 0) return "";
  if (known.some(Number.isNaN)) return "failed";
  return `${known.reduce((sum, result) => sum + result, 0)} / ${known.length}`;
}

const record = { episodes, turns: 5, package: "miniwob 1.1.0", rows };
writeFileSync("bench/results/miniwob.json", `${JSON.stringify(record, null, 1)}\n`);
process.exit(0);
