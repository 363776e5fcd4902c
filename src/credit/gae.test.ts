import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { makeRow, near } from "./contract/make-row.ts";
import { sampleRows } from "./contract/sample-rows.ts";
import { gae } from "./gae.ts";
import { lengthAdaptiveLambda } from "./length-adaptive-lambda.ts";
import { returnsToGo } from "./returns-to-go.ts";
import { compressedGae, tokenGae } from "./token-gae.ts";

// one rollout, two turns: rewards 0.5 and 1, with an observation between
const mask_T = [0, 1, 1, 1, 0, 0, 1, 1];
const row = makeRow({
  mask: mask_T,
  turnRewards: [0.5, 0],
  reward: 1.5,
  values_T: Float32Array.of(0, 0.1, 0.2, 0.3, 0, 0, 0.4, 0.5),
});

function randomInput(seed: number) {
  const rng = createRng(seed);
  const length = 5 + rng.integer(30);
  return {
    mask_T: Uint8Array.from({ length }, () => (rng.next() < 0.6 ? 1 : 0)),
    rewards_T: Float64Array.from({ length }, () => rng.normal()),
    values_T: Float64Array.from({ length }, () => rng.normal()),
    gamma: rng.next(),
    lambda: rng.next(),
  };
}

describe("token GAE", () => {
  test("golden: the observation is no step", () => {
    const { advantages_B_T, returns_B_T } = gae({ gamma: 0.9, lambda: 0.8, whiten: false }).assign([row]);
    expect([...advantages_B_T[0]]).toEqual(near([0, 0.573736, 0.685744, 0.8552, 0, 0, 0.41, 0.5]));
    expect([...returns_B_T![0]]).toEqual(near([0, 0.673736, 0.885744, 1.1552, 0, 0, 0.81, 1]));
  });

  test("skipping observations and taking them out are the same", () => {
    for (let seed = 0; seed < 50; seed++) {
      const input = randomInput(seed);
      expect([...tokenGae(input)]).toEqual([...compressedGae(input)]);
    }
  });

  test("numbers of observations change nothing, and theirs are exactly 0", () => {
    for (let seed = 0; seed < 50; seed++) {
      const input = randomInput(seed);
      const disturb = (array_T: Float64Array) => array_T.map((value, t) => (input.mask_T[t] === 1 ? value : 1e9));
      const disturbed = { ...input, values_T: disturb(input.values_T), rewards_T: disturb(input.rewards_T) };
      for (const compute of [tokenGae, compressedGae]) {
        expect(compute(disturbed)).toEqual(compute(input));
        expect(compute(input).filter((value, t) => input.mask_T[t] === 0 && value !== 0)).toHaveLength(0);
      }
    }
  });

  test("with gamma and lambda 1 it is the return less the value", () => {
    const rows = sampleRows(13).map((sampled) => ({
      ...sampled,
      turns: sampled.turns.map((turn) => ({ ...turn, reward: 0 })),
    }));
    const { advantages_B_T, returns_B_T } = gae({ whiten: false }).assign(rows);
    for (const [b, { mask_T: sampled_T, values_T, reward }] of rows.entries()) {
      const expected = Array.from(sampled_T, (isSampled, t) => (isSampled === 1 ? reward - values_T![t] : 0));
      expect([...advantages_B_T[b]]).toEqual(near(expected));
      expect([...returns_B_T![b]]).toEqual(near(Array.from(sampled_T, (isSampled) => isSampled * reward)));
    }
  });

  test("with lambda 1 the value only shifts, with lambda 0 only the next step counts", () => {
    const input = { ...randomInput(3), mask_T: new Uint8Array(100).fill(1) };
    const length = input.values_T.length;
    const whole = { ...input, mask_T: input.mask_T.slice(0, length) };
    const returns_T = returnsToGo(input.rewards_T, input.gamma);
    expect([...tokenGae({ ...whole, lambda: 1 })]).toEqual(
      near(returns_T.map((value, t) => value - input.values_T[t])),
    );
    const next = (t: number) => (t + 1 < length ? input.gamma * input.values_T[t + 1] : 0);
    const differences = input.rewards_T.map((reward, t) => reward + next(t) - input.values_T[t]);
    expect([...tokenGae({ ...whole, lambda: 0 })]).toEqual(near(differences));
  });

  test("whitening is over all sampled tokens, and leaves returns alone", () => {
    const rows = sampleRows(14);
    const plain = gae({ whiten: false }).assign(rows);
    const white = gae().assign(rows);
    const sampled = rows.flatMap((each, b) => [...white.advantages_B_T[b]].filter((_, t) => each.mask_T[t] === 1));
    expect(sampled.reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 4);
    expect(sampled.reduce((sum, value) => sum + value ** 2, 0) / (sampled.length - 1)).toBeCloseTo(1, 5);
    expect(white.returns_B_T).toEqual(plain.returns_B_T);
  });
});

describe("a rollout of two rows", () => {
  const rows = [
    makeRow({ mask: [1, 1], reward: 1, isLast: false, values_T: Float32Array.of(0.1, 0.2) }),
    makeRow({ mask: [0, 1], reward: 1, values_T: Float32Array.of(0, 0.5) }),
  ];

  test("apart: the first ends in the value of the second", () => {
    const { advantages_B_T } = gae({ whiten: false, rows: "apart" }).assign(rows);
    expect([...advantages_B_T[0]]).toEqual(near([0.4, 0.3]));
    expect([...advantages_B_T[1]]).toEqual([0, 0.5]);
  });

  test("chained: the first has its part in how it ended", () => {
    const { advantages_B_T } = gae({ whiten: false, rows: "chained" }).assign(rows);
    expect([...advantages_B_T[0]]).toEqual(near([0.9, 0.8]));
    expect([...advantages_B_T[1]]).toEqual([0, 0.5]);
  });

  test("a row without a sampled token between them changes nothing", () => {
    const between = makeRow({ mask: [0, 0], reward: 1, isLast: false, values_T: new Float32Array(2) });
    for (const mode of ["apart", "chained"] as const) {
      const credit = gae({ whiten: false, rows: mode });
      const [first_T, , last_T] = credit.assign([rows[0], between, rows[1]]).advantages_B_T;
      expect([first_T, last_T]).toEqual(credit.assign(rows).advantages_B_T);
    }
  });

  test("a lambda that depends on length is given that of each row, or that of all", () => {
    const lengthsGiven = (mode: "apart" | "chained") => {
      const lengths: number[] = [];
      const lambda = (length: number) => lengths.push(length);
      gae({ lambda, rows: mode }).assign(rows);
      return lengths.toSorted();
    };
    expect(lengthsGiven("apart")).toEqual([1, 2]);
    expect(lengthsGiven("chained")).toEqual([3, 3]);
  });
});

describe("VAPO", () => {
  test("golden: lambda grows with length and is never below 0", () => {
    const lambda = lengthAdaptiveLambda(0.05);
    expect([100, 1000, 10_000, 20, 5, 1, 0].map(lambda)).toEqual(near([0.8, 0.98, 0.998, 0, 0, 0, 0]));
  });

  test("golden: returns have the critic's lambda, advantages their own", () => {
    const { advantages_B_T, returns_B_T } = gae({ lambda: 0.8, criticLambda: 1, whiten: false }).assign([row]);
    expect([...advantages_B_T[0]]).toEqual(near([0, 0.82, 0.9, 1, 0, 0, 0.5, 0.5]));
    expect([...returns_B_T![0]]).toEqual(near([0, 1.5, 1.5, 1.5, 0, 0, 1, 1]));
  });

  test("length is that of sampled tokens", () => {
    // 5 sampled tokens at alpha 1: lambda 0.8
    const adaptive = gae({ lambda: lengthAdaptiveLambda(1), whiten: false }).assign([row]);
    const fixed = gae({ lambda: 0.8, whiten: false }).assign([row]);
    expect([...adaptive.advantages_B_T[0]]).toEqual(near(fixed.advantages_B_T[0]));
  });
});
