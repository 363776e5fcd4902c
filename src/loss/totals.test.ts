import { expect, test } from "vitest";
import { makeRow } from "./contract/make-row.ts";
import { totalsOf } from "./totals.ts";

test("counts tokens, rollouts, groups, turns and pairs with something to learn from", () => {
  const logprobs_T = Float32Array.of(0, -1, -2, -1);
  const turns = [
    { start: 1, end: 2 },
    { start: 3, end: 4 },
  ];
  const rows = [
    makeRow({ id: "a", logprobs_T, turns, mask_T: Uint8Array.of(0, 1, 0, 1), reward: 1, weight: 0.25 }),
    makeRow({
      id: "b",
      rollout: "a",
      group: "a",
      logprobs_T,
      turns,
      mask_T: Uint8Array.of(0, 1, 0, 0),
      weight: 0.75,
    }),
    makeRow({ id: "c", group: "a", logprobs_T, reward: 1, preference: { pair: 3, chosen: true } }),
    makeRow({ id: "d", logprobs_T, mask_T: new Uint8Array(4), reward: 2, preference: { pair: 3, chosen: false } }),
  ];
  expect(totalsOf(rows)).toEqual({
    tokens: 7,
    sequences: 2,
    groups: 1,
    turns: 4,
    pairs: 1,
    tokensOfGroup: new Map([["a", 7]]),
    turnsOfRollout: new Map([
      ["a", 3],
      ["c", 1],
    ]),
    weightOfRollout: new Map([
      ["a", 1],
      ["c", 1],
    ]),
    tokensOfReward: new Map([
      [1, 6],
      [0, 1],
    ]),
  });
});

test("the mean log-ratio is over rollouts, of the newest log-probabilities", () => {
  const referenceLogprobs_T = Float32Array.of(0, 0);
  const logprobs_T = Float32Array.of(-1, -2);
  const oldLogprobs_T = Float32Array.of(-4, -4);
  const rows = [
    makeRow({ id: "a", referenceLogprobs_T, logprobs_T, oldLogprobs_T, weight: 0.5 }),
    makeRow({ id: "a2", rollout: "a", referenceLogprobs_T, logprobs_T, oldLogprobs_T, weight: 0.5 }),
    makeRow({ id: "b", referenceLogprobs_T, logprobs_T, oldLogprobs_T, mask_T: Uint8Array.of(0, 1) }),
  ];
  expect(totalsOf(rows).logRatio).toBeCloseTo((-3 - 2) / 2, 12);
  expect(totalsOf(rows.map(({ logprobs_T: _, ...row }) => row)).logRatio).toBeCloseTo((-8 - 4) / 2, 12);
  expect(totalsOf([makeRow({ logprobs_T })])).not.toHaveProperty("logRatio");
});
