import { expect, test } from "vitest";
import { biLevelAdvantages, biLevelGae } from "./bi-level-gae.ts";
import { makeRow, near } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import { gae } from "./gae.ts";
import { whitenMasked } from "./statistics.ts";

const settings = { gamma: 1, lambda: 1, turnGamma: 0.95 };

test("golden: RAGEN's own example, before whitening", () => {
  const values_T = Array.from({ length: 10 }, (_, t) => (t + 1) / 10);
  const ends_T = values_T.map((_, t) => (t === 4 || t === 9 ? 1 : 0));
  const advantages_T = biLevelAdvantages({ ...settings, rewards_T: ends_T, values_T, turnEnds_T: ends_T });
  expect([...advantages_T]).toEqual(near([1.85, 1.75, 1.65, 1.55, 1.45, 0.4, 0.3, 0.2, 0.1, 0]));
});

test("golden: a turn that earned nothing is still a turn", () => {
  const row = makeRow({
    mask: [1, 1, 0, 1, 1],
    turnRewards: [0, 0],
    reward: 1,
    values_T: Float32Array.of(0.1, 0.2, 0, 0.3, 0.4),
  });
  const { advantages_B_T, returns_B_T } = biLevelGae({ whiten: false }).assign([row]);
  // found by its reward, the first turn would run into the second: 0.9, 0.8
  expect([...advantages_B_T[0]]).toEqual(near([0.85, 0.75, 0, 0.7, 0.6]));
  expect([...returns_B_T![0]]).toEqual(near([0.95, 0.95, 0, 1, 1]));
});

test("with everything 1 there is one level only", () => {
  const rows = sampleRows(15);
  const two = biLevelGae({ turnGamma: 1, whiten: false }).assign(rows);
  const one = gae({ whiten: false }).assign(rows);
  for (const [b, advantages_T] of two.advantages_B_T.entries()) {
    expect([...advantages_T]).toEqual(near(one.advantages_B_T[b]));
  }
});

test("golden: within a turn gamma and lambda both fade", () => {
  const advantages_T = biLevelAdvantages({
    rewards_T: [0, 0, 1],
    values_T: [0.5, 0.25, 0.5],
    turnEnds_T: [0, 0, 1],
    gamma: 0.5,
    lambda: 0.5,
    turnGamma: 1,
  });
  // 0.5; 0.25 - 0.25 + 0.25 * 0.5; 0.125 - 0.5 + 0.25 * 0.125
  expect([...advantages_T]).toEqual(near([-0.34375, 0.125, 0.5]));
});

test("advantages are whitened unless told otherwise, returns never", () => {
  const rows = sampleRows(16);
  const plain = biLevelGae({ whiten: false }).assign(rows);
  const white = biLevelGae().assign(rows);
  const expected_B_T = plain.advantages_B_T.map((advantages_T) => advantages_T.slice());
  whitenMasked(expected_B_T, rows);
  expect(white.advantages_B_T).toEqual(expected_B_T);
  expect(white.advantages_B_T).not.toEqual(plain.advantages_B_T);
  expect(white.returns_B_T).toEqual(plain.returns_B_T);
});
