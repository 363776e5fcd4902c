import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { craftGrid } from "./craft-grid.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = { id: "t", seed: 0, data: { player: 0, places: [1, 4, 5] as const } };
const small = craftGrid({ size: 3 });

test("wood, pickaxe, diamond, in that order", async () => {
  const { heard, scores, stop } = await playEpisode(small, task, ["R", "A", "D", "A", "L", "A", "R", "A"]);
  expect(heard.slice(0, 4)).toEqual(["PT.\n.WD\n...\n0", ".t.\n.WD\n...\n0", ".P.\n.WD\n...\n1", "...\n.wD\n...\n1"]);
  // the step to the left leaves the workbench, which is used up already: the use there makes nothing
  expect(heard.slice(4, 8)).toEqual(["...\n.PD\n...\n2", "...\nP.D\n...\n2", "...\nP.D\n...\n2", "...\n.PD\n...\n2"]);
  expect([scores.agent.success, stop]).toEqual([false, "max-turns"]);
  const right = await playEpisode(small, task, ["R", "A", "D", "A", "R", "A"]);
  expect([right.scores.agent.success, right.stop]).toEqual([true, "completed"]);
});

test("out of order nothing is made, walls hold, and other words do nothing", async () => {
  const { heard, turns } = await playEpisode(small, task, ["U", "L", "D", "R", "A", "x"]);
  expect(heard.slice(1, 6)).toEqual([
    "PT.\n.WD\n...\n0",
    "PT.\n.WD\n...\n0",
    ".T.\nPWD\n...\n0",
    ".T.\n.wD\n...\n0",
    ".T.\n.wD\n...\n0",
  ]);
  expect(turns.map(({ info }) => info?.isValid)).toEqual([true, true, true, true, true, false]);
});

test("the expert gets there by a shortest way, not always by the same", async () => {
  const env = craftGrid();
  for (let index = 0; index < 50; index++) {
    const drawn = await env.tasks.at("train", index);
    const { scores, turns } = await playEpisode(env, drawn, "expert");
    expect(scores.agent.success).toBe(true);
    const cells = [drawn.data.player, ...drawn.data.places];
    const apart = (a: number, b: number) => Math.abs((a % 4) - (b % 4)) + Math.abs((a >> 2) - (b >> 2));
    expect(turns).toHaveLength(3 + [0, 1, 2].reduce((sum, i) => sum + apart(cells[i], cells[i + 1]), 0));
  }
  const corner = { player: 0, places: [15, 14, 13] as const };
  const ways = await Promise.all(
    Array.from({ length: 20 }, async (_, seed) => {
      const { turns } = await playEpisode(env, { id: `${seed}`, seed, data: corner }, "expert");
      return turns.map(({ text }) => text).join("");
    }),
  );
  expect(new Set(ways).size).toBeGreaterThan(5);
});

test("keeps the promises of environments", async () => {
  expect((await checkEnv(craftGrid(), { tasks: 2, timeoutMs: 10_000 })).findings).toEqual([]);
});

test.each([{ size: 1 }, { turns: 0 }, { sise: 4 }])("refuses %j", (options) => {
  expect(() => craftGrid(options as object)).toThrow();
});
