import { expect, test } from "vitest";
import { attempt, groupOf } from "./fixtures/attempt.ts";
import { searchedPairs } from "./searched-pairs.ts";

const tried = [
  { tokens: [3], visits: 4, value: 1 },
  { tokens: [4, 5], visits: 2, value: 0.5 },
  { tokens: [6], visits: 1, value: 0.95 },
  { tokens: [7], visits: 0, value: 0 },
];

function searched(actions: readonly object[]) {
  const plain = attempt("a", [[2], [3]], 1);
  const turns = plain.turns.map((turn, index) => {
    return index === 1 ? { ...turn, annotations: { search: { kind: "mcts", actions } } } : turn;
  });
  return groupOf({ ...plain, turns } as typeof plain);
}

test("the best explored action against each that is worse by enough, from where the attempt was", () => {
  const group = searched(tried);
  const [pair, ...others] = searchedPairs(group);
  expect(others).toEqual([]);
  expect(pair.gap).toBe(0.5);
  const { start } = group.trajectories[0].turns[1].span;
  for (const [side, said] of [
    [pair.chosen[0], [3]],
    [pair.rejected[0], [4, 5]],
  ] as const) {
    expect(side.turn).toBe(1);
    expect([...side.trajectory.tokens_T]).toEqual([...group.trajectories[0].tokens_T.subarray(0, start), ...said]);
    expect([...side.trajectory.mask_T.subarray(start)]).toEqual(said.map(() => 1));
    expect(side.trajectory.turns[1].span).toEqual({ start, end: start + said.length });
  }
});

test("a critic has its share of what actions are worth", () => {
  const group = searched([
    { tokens: [3], visits: 1, value: 1, critic: 0 },
    { tokens: [4], visits: 1, value: 0.5, critic: 1 },
  ]);
  const [pair] = searchedPairs(group);
  expect([...pair.chosen[0].trajectory.tokens_T].at(-1)).toBe(4);
  expect(pair.gap).toBe(0.25);
  expect([...searchedPairs(group, { alpha: 1 })[0].chosen[0].trajectory.tokens_T].at(-1)).toBe(3);
});

test("attempts that were not searched make no pair, and options are checked", () => {
  expect(searchedPairs(groupOf(attempt("a", [[2]], 1)))).toEqual([]);
  expect(searchedPairs(searched(tried), { leastVisits: 3 })).toEqual([]);
  expect(() => searchedPairs(searched(tried), { gap: 1 } as never)).toThrow("gap");
  expect(() => searchedPairs(searched(tried), { minGap: 0 })).toThrow("minGap 0");
});
