import { expect, test } from "vitest";
import { type FrozenLakeOptions, frozenLake, rllmLake } from "./frozen-lake.ts";
import { planOnIce, shortestPath, slips } from "./frozen-lake-rules.ts";
import { playEpisode } from "./testing/play-episode.ts";

const rows = ["P_O_", "____", "O_O_", "___G"];
const taskOf = (given: readonly string[]) => ({ id: "lake", seed: 7, data: { rows: given } });
const firm: Partial<FrozenLakeOptions> = { isSlippery: false };

test("firm ice: moves go where they are meant, the goal pays 1", async () => {
  const { heard, turns, scores, stop } = await playEpisode(frozenLake(firm), taskOf(rows), ["DR", "U", "DDDRR"]);
  expect(heard).toEqual(["P_O_\n____\nO_O_\n___G", "__O_\n_P__\nO_O_\n___G", "_PO_\n____\nO_O_\n___G"]);
  expect(turns.at(-1)!.observation).toBe("__O_\n____\nO_O_\n___*");
  expect(scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  expect(stop).toBe("completed");
});

test("a hole ends the episode, and what was said after it is not done", async () => {
  const { turns, scores, stop } = await playEpisode(frozenLake(firm), taskOf(rows), ["RRDDD", "D"]);
  expect(turns).toHaveLength(1);
  expect(turns[0].observation).toBe("__X_\n____\nO_O_\n___G");
  expect([scores.agent.total, stop]).toEqual([0, "completed"]);
});

test("moves against the shore count, and the tenth action is the last", async () => {
  const { turns, stop } = await playEpisode(frozenLake(firm), taskOf(rows), ["LLLL", "LLLL", "LDDDDD", "D"]);
  expect([turns.length, stop]).toEqual([3, "completed"]);
  // the ninth and the tenth: what was said after them is not done
  expect(turns[2].observation).toBe("__O_\nP___\nO_O_\n___G");
});

test("five turns, however few actions they took", async () => {
  const { turns, stop } = await playEpisode(frozenLake(firm), taskOf(rows), ["L", "L", "L", "L", "L", "L"]);
  expect([turns.length, stop]).toEqual([5, "max-turns"]);
});

test("a turn that is not all moves costs 0.1, once", async () => {
  const { turns, scores } = await playEpisode(frozenLake(firm), taskOf(rows), ["xDx", "", "D"]);
  expect(turns.map(({ reward }) => reward)).toEqual([-0.1, -0.1, 0]);
  expect(turns[0].observation).toBe("__O_\nP___\nO_O_\n___G");
  expect(scores.agent.total).toBeCloseTo(-0.2);
});

test("tags: the published form of prompts and answers", async () => {
  const env = frozenLake({ ...firm, style: "tags" });
  const { heard, turns } = await playEpisode(env, taskOf(rows), [
    "<think>down</think><answer>Down || Right</answer>",
    "<answer>Down</answer>",
    "Down",
  ]);
  expect(heard[0]).toContain(
    "Turn 1:\nState:\nP_O_\n____\nO_O_\n___G\nYou have 10 actions left. Always output: <think>",
  );
  expect(heard[1]).toMatch(/^Reward:\n0\nTurn 2:\nState:\n__O_\n_P__\nO_O_\n___G\nYou have 8 actions left\./);
  // without a thought the format was not kept: the move is done, the penalty too; without tags nothing was answered
  expect(turns.map(({ reward }) => reward)).toEqual([0, -0.1, -0.1]);
  expect(heard[2]).toContain("You have 7 actions left.");
});

test("rLLM's lake: 8 × 8, the goal within 5 moves, tabs, one move a turn, no penalty", async () => {
  const env = frozenLake({ ...rllmLake, style: "tags" });
  for (let i = 0; i < 50; i++) {
    const task = await env.tasks.at("train", i);
    const { heard, scores, turns } = await playEpisode(env, task, "expert");
    expect(heard[0]).toContain([...task.data.rows[0]].join("\t"));
    expect(task.data.rows).toHaveLength(8);
    expect(scores.agent.success).toBe(true);
    expect(turns.length).toBeLessThanOrEqual(5);
  }
  const { scores } = await playEpisode(env, await env.tasks.at("train", 0), ["fly"]);
  expect(scores.agent.total).toBe(0);
});

test("every lake has one start, one goal and a way between, and none of the test is in training", async () => {
  const env = frozenLake();
  const lakes = async (split: string) =>
    Promise.all(Array.from({ length: 300 }, async (_, i) => (await env.tasks.at(split, i)).data.rows.join("")));
  const [train, held] = [await lakes("train"), await lakes("test")];
  for (const cells of train) {
    expect(cells.replace(/[_O]/g, "").split("").sort().join("")).toBe("GP");
    expect(shortestPath({ size: 4, cells: cells.replace("P", "_") }, cells.indexOf("P"))).toBeDefined();
  }
  expect(held.filter((cells) => train.includes(cells))).toEqual([]);
  // 14 cells of chance; holes are 20 % of them, and somewhat fewer as some lakes are not kept
  const holes = train.join("").split("O").length - 1;
  expect(holes / (14 * train.length)).toBeGreaterThan(0.12);
  expect(holes / (14 * train.length)).toBeLessThan(0.21);
});

test("slips go to either side, never back", () => {
  expect(slips("Left")).toEqual(["Up", "Left", "Down"]);
  expect(slips("Up")).toEqual(["Right", "Up", "Left"]);
});

// start and goal in the upper row of 2 × 2; by hand: V1 = 1/3, V2 = (1 + 1/3 + 1/3) / 3 by going up, which slips to the right
test("value iteration by hand", () => {
  const lake = { size: 2, cells: "_G__" };
  expect(planOnIce(lake, 0, { turns: 1, actions: 1 }, 1).chance).toBeCloseTo(1 / 3);
  expect(planOnIce(lake, 0, { turns: 2, actions: 2 }, 1)).toEqual({ moves: ["Up"], chance: expect.closeTo(5 / 9) });
  expect(planOnIce(lake, 0, { turns: 1, actions: 2 }, 2).chance).toBeCloseTo(5 / 9);
  expect(planOnIce({ size: 2, cells: "OG_O" }, 2, { turns: 9, actions: 9 }, 1).chance).toBe(0);
});

test("on firm ice the expert always arrives", async () => {
  const env = frozenLake(firm);
  for (let i = 0; i < 200; i++) {
    const { scores } = await playEpisode(env, await env.tasks.at("train", i), "expert");
    expect(scores.agent.success).toBe(true);
  }
});

test("on slippery ice the expert arrives as often as its plan says", async () => {
  const env = frozenLake();
  let expected = 0;
  let arrived = 0;
  for (let i = 0; i < 200; i++) {
    const task = await env.tasks.at("test", i);
    const cells = task.data.rows.join("");
    const lake = { size: 4, cells: cells.replace("P", "_") };
    expected += planOnIce(lake, cells.indexOf("P"), { turns: 5, actions: 10 }, 2).chance;
    arrived += (await playEpisode(env, task, "expert")).scores.agent.total;
  }
  // three standard deviations of 200 throws of a coin
  expect(Math.abs(arrived - expected)).toBeLessThan(3 * Math.sqrt(200 / 4));
  expect(arrived).toBeGreaterThan(70);
});

test("options that make no lake are refused in words", async () => {
  expect(() => frozenLake({ size: 1 })).toThrow(/size = 1/);
  expect(() => frozenLake({ turns: 0 })).toThrow(/turns = 0/);
  expect(() => frozenLake({ maxPath: 0 }).tasks.at("train", 0)).toThrow(/maxPath/);
});
