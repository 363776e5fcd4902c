import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import type { Pages } from "../pages.ts";

const MiniWobRecord = z.object({
  episodes: z.number().int(),
  turns: z.number().int(),
  package: z.string(),
  rows: z.array(z.object({ page: z.string(), random: z.string(), expert: z.string() })),
});

/** The table that `scripts/miniwob-table.ts` measured. */
export function miniWobPages(root: string): Pages {
  const file = join(root, "bench/results/miniwob.json");
  if (!existsSync(file)) return {};
  const { episodes, turns, package: name, rows } = MiniWobRecord.parse(JSON.parse(readFileSync(file, "utf8")));
  const solved = (key: "random" | "expert") => rows.filter((row) => /^[1-9]/.test(row[key])).length;
  const known = rows.filter(({ expert }) => expert !== "").length;
  const table = rows.map(({ page, random, expert }) => `| ${page} | ${random} | ${expert} |`).join("\n");
  const text = `# MiniWoB++ in Chromium

Episodes solved (the page's own reward, without its loss over time, is 1) of ${episodes} on each of the ${rows.length} pages of ${name}, at most ${turns} turns each, by
\`scripts/miniwob-table.ts\`. The random player draws from what can be clicked, written (words that the task quotes) and chosen. The scripted expert reads
tasks of one line; an empty cell says that it does not know the page. "failed": an episode ended by a fault or there was nothing to do.
Solved at least once: ${solved("random")} pages by the random player, and ${solved("expert")} of the ${known} that it knows by the expert.

| page | random | expert |
|---|---|---|
${table}
`;
  return { "docs/results/miniwob.md": text };
}
