import { expect, test } from "vitest";
import { type KeyDoorOptions, keyDoor } from "./key-door.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = { id: "corridor", seed: 0, data: { corridor: "kA.D.G" } };
const play = (says: string, options: Partial<KeyDoorOptions> = {}) => playEpisode(keyDoor(options), task, [...says]);
const solution = "LTRRORRR";

test("key, door, goal: nothing is paid before the end", async () => {
  const { heard, turns, scores, stop } = await play(solution);
  expect(heard).toEqual(["kA.D.G", "K..D.G", "A..D.G+", ".A.D.G+", "..AD.G+", "..Ad.G+", "...A.G+", "...dAG+"]);
  expect(turns.every(({ reward }) => reward === 0)).toBe(true);
  expect(scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  expect(stop).toBe("completed");
});

test("the door stays closed without the key, and from afar", async () => {
  expect((await play("ROR")).heard).toEqual(["kA.D.G", "k.AD.G", "k.AD.G", "k.AD.G"]);
  expect((await play("LTO")).heard.at(-1)).toBe("A..D.G+");
});

test("walls and nonsense change nothing", async () => {
  const { heard, turns } = await play("LLTTx");
  expect(heard).toEqual(["kA.D.G", "K..D.G", "K..D.G", "A..D.G+", "A..D.G+", "A..D.G+"]);
  expect(turns.map(({ info }) => info!.isValid)).toEqual([true, true, true, true, false]);
});

test("subgoals on the first visit are paid once each, whatever the way", async () => {
  const { turns, scores } = await play(solution, { subgoals: "first-visit" });
  expect(turns.map(({ reward }) => reward)).toEqual([0, 0.2, 0, 0, 0.2, 0, 0.2, 0]);
  expect(scores.agent.total).toBeCloseTo(1.6);
  const { scores: walked } = await play("LTRLRLRLRLRLRLRL", { subgoals: "first-visit" });
  expect(walked.agent.total).toBeCloseTo(0.2);
});

test("subgoals that repeat can be farmed for more than the goal gives", async () => {
  const { scores } = await play("LTRLRLRLRLRLRLRL", { subgoals: "repeatable" });
  expect(scores.agent.total).toBeCloseTo(8 * 0.2);
  expect(scores.agent.success).toBe(false);
});

test.each([4, 5, 8, 17, 64])("length %i: the shortest solution has just that many actions", async (length) => {
  const env = keyDoor({ length });
  for (const split of ["train", "test", "mirrored"]) {
    for (let i = 0; i < 10; i++) {
      const { turns, scores } = await playEpisode(env, await env.tasks.at(split, i), "expert");
      expect(scores.agent.success).toBe(true);
      expect(turns).toHaveLength(length);
    }
  }
});

test("no corridor of the test is in training, where there are enough of them", async () => {
  for (const length of [8, 9, 16]) {
    const { tasks } = keyDoor({ length });
    const draw = async (split: string) =>
      new Set(await Promise.all(Array.from({ length: 100 }, async (_, i) => (await tasks.at(split, i)).data.corridor)));
    const [train, held] = [await draw("train"), await draw("test")];
    expect([...held].filter((corridor) => train.has(corridor))).toEqual([]);
  }
});

test("an episode ends after twice its length", async () => {
  const { turns, stop } = await play("R".repeat(40));
  expect([turns.length, stop]).toEqual([16, "max-turns"]);
});

test("sight cuts the corridor around the agent", async () => {
  expect((await play("RR", { sight: 1 })).heard).toEqual(["kA.", ".AD", ".AD"]);
});

test("tags: words instead of letters", async () => {
  const { heard, turns } = await playEpisode(keyDoor({ style: "tags" }), task, [
    "<think>the key</think><answer>left</answer>",
    "<think></think><answer>L</answer>",
  ]);
  expect(heard[0]).toContain("Left, Right, Take, Open");
  expect(heard[1]).toMatch(/^State: K\.\.D\.G\n/);
  expect(turns[1].info).toEqual({ isValid: false });
});

test("a length out of range is refused in words", () => {
  expect(() => keyDoor({ length: 3 })).toThrow(/length = 3/);
  expect(() => keyDoor({ length: 65 })).toThrow(/4 to 64/);
});
