import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { type SokobanTask, sokoban } from "./sokoban.ts";
import { makeRoom } from "./sokoban-rooms.ts";
import { boxesOnTarget, solve } from "./sokoban-rules.ts";
import { playEpisode } from "./testing/play-episode.ts";

const taskOf = (room: string, vocabulary: SokobanTask["vocabulary"] = "usual") => ({
  id: "room",
  seed: 1,
  data: { room, vocabulary },
});
const oneBox = "######\n#PX_O#\n#____#\n######";
const twoBoxes = "#######\n#P√___#\n#__X_O#\n#######";

test("a step costs 0.1, a box on its target gives 1, the last one 10 more", async () => {
  const { heard, turns, scores, stop } = await playEpisode(sokoban(), taskOf(oneBox), ["L", "R", "RR"]);
  expect(heard).toEqual([oneBox, oneBox, "######\n#_PXO#\n#____#\n######"]);
  expect(turns.map(({ reward }) => reward)).toEqual([-0.1, -0.1, expect.closeTo(10.9)]);
  expect(turns.at(-1)!.observation).toBe("######\n#__P*#\n#____#\n######");
  expect(scores.agent).toMatchObject({ total: expect.closeTo(10.7), success: true });
  expect(stop).toBe("completed");
});

test("a box off its target costs 1, and both are needed for success", async () => {
  const { turns, scores } = await playEpisode(sokoban(), taskOf(twoBoxes), ["R", "", "DRR"]);
  expect(turns.map(({ reward }) => reward)).toEqual([-1.1, -0.1, expect.closeTo(0.7)]);
  expect(turns[0].observation).toBe("#######\n#_SX__#\n#__X_O#\n#######");
  expect(scores.agent.success).toBe(false);
});

test("a box moves neither into a wall nor into another box", async () => {
  const blocked = "######\n#PXXO#\n#O___#\n######";
  const { turns } = await playEpisode(sokoban(), taskOf(blocked), ["R"]);
  expect(turns[0].observation).toBe(blocked);
  expect(turns[0].reward).toBe(-0.1);
});

test("ten actions in an episode", async () => {
  const { turns, stop } = await playEpisode(sokoban(), taskOf(oneBox), ["LLLLL", "LLLLLRRR", "RR"]);
  expect([turns.length, stop]).toEqual([2, "completed"]);
  expect(turns[1].reward).toBeCloseTo(-0.5);
});

test("tags: symbols are explained, rewards and actions left are told", async () => {
  const env = sokoban({ style: "tags" });
  const say = "<think>right</think><answer>Right || Left</answer>";
  const { heard } = await playEpisode(env, taskOf(twoBoxes), [say]);
  expect(heard[0]).toContain("#: wall, _: empty, O: target, √: box on target, X: box, P: player, S: player on target");
  expect(heard[0]).toContain(`Turn 1:\nState:\n${twoBoxes}\nYou have 10 actions left.`);
  expect(heard[1]).toMatch(/^Reward:\n-1\.2\nTurn 2:\nState:\n#######\n#PO/);
});

test("the other vocabulary is the same room in other letters", async () => {
  const { heard } = await playEpisode(sokoban({ style: "tags" }), taskOf(twoBoxes, "other"), []);
  expect(heard[0]).toContain("WWWWWWW\nWAC...W\nW..B.GW\nWWWWWWW");
  expect(heard[0]).toContain("W: wall, .: empty, G: target, C: box on target, B: box, A: player, @: player on target");
});

test("splits: larger rooms with two boxes, and none of the test in training", async () => {
  const env = sokoban();
  const rooms = async (split: string, count: number) =>
    Promise.all(Array.from({ length: count }, async (_, i) => (await env.tasks.at(split, i)).data));
  const [train, held] = [await rooms("train", 150), await rooms("test", 150)];
  expect(held.filter(({ room }) => train.some((other) => other.room === room))).toEqual([]);
  for (const { room } of await rooms("larger", 10)) {
    expect(room.split("\n").map((row) => row.length)).toEqual(new Array(8).fill(8));
    expect(room.match(/[X√]/g)).toHaveLength(2);
  }
  expect((await rooms("vocabulary", 3)).map(({ vocabulary }) => vocabulary)).toEqual(["other", "other", "other"]);
});

test("every room is walled in, starts with no box in place, and can be solved", () => {
  const rng = createRng(3);
  for (let i = 0; i < 100; i++) {
    const room = makeRoom(rng, { width: 6, height: 7, boxes: 1 + (i % 2), searchDepth: 30 });
    const isEdge = (cell: number) => cell % 6 === 0 || cell % 6 === 5 || cell < 6 || cell >= 36;
    expect(room.floor.filter((isFloor, cell) => isFloor && isEdge(cell))).toEqual([]);
    expect(boxesOnTarget(room)).toBe(0);
    expect(room.boxes).toHaveLength(1 + (i % 2));
    expect(room.boxes).not.toContain(room.player);
    expect(solve(room)).toBeDefined();
  }
});

test("the solver finds the shortest way, and knows when there is none", async () => {
  const env = sokoban();
  const { turns } = await playEpisode(env, taskOf(oneBox), "expert");
  expect(turns.map(({ text }) => text)).toEqual(["RR"]);
  const stuck = "######\n#X__P#\n#___O#\n######";
  expect((await playEpisode(env, taskOf(stuck), "expert")).turns).toEqual([]);
});

test("the expert solves what ten actions suffice for", async () => {
  const env = sokoban({ maxSolution: 10 });
  for (let i = 0; i < 150; i++) {
    const { scores } = await playEpisode(env, await env.tasks.at("train", i), "expert");
    expect(scores.agent.success).toBe(true);
  }
  let solved = 0;
  const any = sokoban();
  for (let i = 0; i < 150; i++) {
    solved += (await playEpisode(any, await any.tasks.at("test", i), "expert")).scores.agent.success ? 1 : 0;
  }
  expect(solved).toBeGreaterThan(140);
});

test("options that make no room are refused in words", () => {
  expect(() => sokoban({ width: 3 })).toThrow(/width = 3/);
  expect(() => sokoban({ boxes: 0 })).toThrow(/boxes = 0/);
});
