import { expect, test } from "vitest";
import { agentR1 } from "./agent-r1.ts";
import { exactMatch } from "./exact-match.ts";
import { linearLength, sigmoidLength, softOverlong } from "./length.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const gold = (task: string) => task;
const turns = (count: number) =>
  fakeEpisode(
    "4",
    Array.from({ length: count }, () => "12345"),
    { answer: "4" },
  );

test("linear: a price for each turn or character over the target, with a floor", async () => {
  const byTurns = linearLength({ unit: "turns", target: 3, weight: 0.1 });
  expect((await byTurns(turns(3))).total).toBe(0);
  expect((await byTurns(turns(5))).total).toBeCloseTo(-0.2, 12);
  expect((await byTurns(turns(50))).total).toBe(-1);
  const byCharacters = linearLength({ unit: "characters", target: 10, weight: 0.01 });
  expect((await byCharacters(turns(4))).total).toBeCloseTo(-0.1, 12);
});

test("sigmoid: half at the target, and the part says what it took", async () => {
  const reward = sigmoidLength(exactMatch(gold), { unit: "turns", target: 2, temperature: 1 });
  expect(await reward(turns(2))).toEqual({ total: 0.5, parts: { outcome: 1, length: -0.5 }, success: true });
  expect((await reward(turns(3))).total).toBeCloseTo(1 / (1 + Math.E), 12);
  expect(() => sigmoidLength(agentR1(gold), { unit: "turns", target: 2, temperature: 1 })).toThrow("reward-negative");
});

test("soft overlong counts sampled tokens, whatever was written with them", async () => {
  const reward = softOverlong({ maxLength: 20480, cacheLength: 4096 });
  const total = async (sampledTokens: number) => (await reward({ ...turns(9), sampledTokens })).total;
  expect(await total(16384)).toBe(0);
  expect(await total(17000)).toBeCloseTo(-0.150391, 6);
  expect(await total(18432)).toBe(-0.5);
  expect(await total(21000)).toBe(-1);
});

test("soft overlong: DAPO's line", async () => {
  const reward = softOverlong({ unit: "characters", maxLength: 20, cacheLength: 10 });
  const totals = [1, 2, 3, 4, 9].map(async (count) => (await reward(turns(count))).total);
  expect(await Promise.all(totals)).toEqual([0, 0, -0.5, -1, -1]);
});
