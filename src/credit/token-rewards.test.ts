import { expect, test } from "vitest";
import { groupAttempts } from "./attempts.ts";
import { makeRow } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import { stepsOf } from "./steps.ts";
import { tokenRewards } from "./token-rewards.ts";

const plain = (arrays: readonly Float32Array[]) => arrays.map((array) => [...array]);

test("each turn's reward is on its last sampled token, the rest of the total on the last of all", () => {
  const row = makeRow({ mask: [0, 1, 1, 0, 1, 1, 0], turnRewards: [0.25, 0.5], reward: 1.75 });
  expect(plain(tokenRewards([row]))).toEqual([[0, 0, 0.25, 0, 0, 1.5, 0]]);
});

test("of several rows of a rollout, the last one gets the rest, less the turns of all", () => {
  const fields = { reward: 1.75, weight: 0.5 };
  const rows = [
    makeRow({ ...fields, mask: [0, 1], turnRewards: [0.25], isLast: false }),
    makeRow({ ...fields, mask: [1, 0, 1], turnRewards: [0.5, 0] }),
  ];
  expect(plain(tokenRewards(rows))).toEqual([
    [0, 0.25],
    [0.5, 0, 1],
  ]);
});

test("without its last row, a rollout has no rest to give", () => {
  const row = makeRow({ mask: [1, 0, 1], turnRewards: [0.25, 0.5], reward: 1.75, isLast: false });
  expect(plain(tokenRewards([row]))).toEqual([[0.25, 0, 0.5]]);
});

test("the reward of a turn without a sampled token goes to the one before; before the first it is no one's", () => {
  const turns = [
    { start: 0, end: 1, reward: 4 },
    { start: 1, end: 3, reward: 0.25 },
    { start: 4, end: 5, reward: 0.5 },
  ];
  const row = { ...makeRow({ mask: [0, 1, 1, 0, 0], reward: 5 }), turns };
  expect(plain(tokenRewards([row]))).toEqual([[0, 0, 1, 0, 0]]);
});

test("they add up to the total", () => {
  const rows = sampleRows(11).filter(({ mask_T, turns: [first] }) => mask_T.indexOf(1) < first.end);
  for (const [b, rewards_T] of tokenRewards(rows).entries()) {
    expect(rewards_T.reduce((sum, reward) => sum + reward, 0)).toBeCloseTo(rows[b].reward, 5);
  }
  expect(rows.length).toBeGreaterThan(5);
});

test("penalties are taken off token by token, and off the step as a whole", () => {
  const row = {
    ...makeRow({ mask: [0, 1, 1, 0, 1], turnRewards: [0.5, 0], reward: 1 }),
    penalties_T: Float32Array.of(9, 0.25, 0.125, 9, 0.5),
  };
  expect(plain(tokenRewards([row]))).toEqual([[0, -0.25, 0.375, 0, 0]]);
  const [attempt] = groupAttempts([row])[0];
  expect(stepsOf([row], attempt).map(({ reward }) => reward)).toEqual([0.125, 0]);
});

test("forced tokens at either end of a turn are no part of the step", () => {
  const row = {
    ...makeRow({ mask: [0, 1, 1, 0, 0], reward: 1 }),
    turns: [{ start: 0, end: 5, reward: 0.25 }],
    penalties_T: Float32Array.of(9, 0.25, 0.25, 9, 9),
  };
  const [attempt] = groupAttempts([row])[0];
  expect(stepsOf([row], attempt)).toMatchObject([{ start: 1, end: 3, reward: 0.5 }]);
  expect(plain(tokenRewards([row]))).toEqual([[0, -0.25, 0.75, 0, 0]]);
});
