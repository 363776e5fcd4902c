import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { createRng } from "../random.ts";
import { openRun } from "../store/index.ts";
import { bufferedSplit } from "./async/buffered-groups.ts";
import { asyncRun, live } from "./fixtures/kill-and-resume.ts";

async function stored(folder: string): Promise<{ used: string[]; waiting: string[] }> {
  const reader = await openRun(folder, { readOnly: true }).catch(() => undefined);
  if (reader === undefined) return { used: [], waiting: [] };
  const of = async (split: string) => (await reader.trajectories({ split }, { limit: 10_000 })).trajectories;
  const [used, waiting] = [await of("train"), await of(bufferedSplit)];
  await reader.close();
  return { used: used.map(({ id }) => id), waiting: waiting.map(({ id }) => id) };
}

test("kills at any moment lose no finished group, and none is used twice", async () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-async-kills-"));
  const run = join(folder, "run");
  try {
    const rng = createRng(3);
    const finished = new Set<string>();
    let kills = 0;
    for (; kills < 8; kills++) {
      const kill = { lines: 2 + rng.integer(40), delayMs: rng.integer(25) };
      if (await live(run, 40, kill, asyncRun)) break;
      const { used, waiting } = await stored(run);
      for (const id of [...used, ...waiting]) finished.add(id);
    }
    await live(run, 0, undefined, asyncRun);
    expect(kills).toBeGreaterThan(4);
    const { used, waiting } = await stored(run);
    expect(used.length).toBeGreaterThanOrEqual(12 * 4 * 2);
    expect(new Set([...used, ...waiting]).size).toBe(used.length + waiting.length);
    expect([...finished].filter((id) => !used.includes(id) && !waiting.includes(id))).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 60_000);
