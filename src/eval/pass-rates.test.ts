import { describe, expect, test } from "vitest";
import { createRng } from "../random.ts";
import { majorityAnswer } from "../rollout/search/majority-answer.ts";
import { clusteredInterval, meanInterval, wilson } from "./interval.ts";
import { bestOf, passAtK, passHatK } from "./pass-rates.ts";

describe("pass@k and pass^k", () => {
  test("known values", () => {
    expect(passAtK(10, 3, 1)).toBeCloseTo(0.3, 12);
    expect(passAtK(10, 3, 5)).toBeCloseTo(1 - 21 / 252, 12); // C(7,5) = 21, C(10,5) = 252
    expect(passHatK(10, 3, 2)).toBeCloseTo(3 / 45, 12);
    expect(passAtK(4, 0, 4)).toBe(0);
    expect(passHatK(4, 4, 4)).toBe(1);
    expect(passAtK(2000, 1000, 1000)).toBeCloseTo(1, 12);
  });

  test("are unbiased: the mean over samples is the chance itself", () => {
    const rng = createRng(1);
    const [p, n, k, trials] = [0.3, 8, 3, 40_000];
    let [any, all] = [0, 0];
    for (let i = 0; i < trials; i++) {
      const c = Array.from({ length: n }, () => rng.next()).filter((u) => u < p).length;
      any += passAtK(n, c, k) / trials;
      all += passHatK(n, c, k) / trials;
    }
    expect(any).toBeCloseTo(1 - (1 - p) ** k, 2);
    expect(all).toBeCloseTo(p ** k, 2);
  });

  test("too few attempts are refused, with the remedy", () => {
    expect(() => passAtK(4, 2, 8)).toThrow(/at least 8 attempts/);
  });
});

test("the majority's answer, and the scorer's", () => {
  expect(majorityAnswer(["a", "b", "b", "c", "c"])).toBe("b");
  expect(majorityAnswer([])).toBeUndefined();
  expect(bestOf(["aa", "b", "cc"], (text) => text.length)).toBe("aa");
});

describe("intervals", () => {
  test("of a share", () => {
    const { low, high } = wilson(8, 10);
    expect(low).toBeCloseTo(0.4902, 3);
    expect(high).toBeCloseTo(0.9433, 3);
    expect(wilson(0, 20).low).toBe(0);
    expect(wilson(0, 20).high).toBeGreaterThan(0.1);
  });

  test("of a mean over seeds", () => {
    const { mean, low, high } = meanInterval([0.8, 0.9, 1]);
    expect(mean).toBeCloseTo(0.9, 12);
    expect(high - low).toBeCloseTo(2 * 4.302652729911275 * (0.1 / Math.sqrt(3)), 6);
  });

  test("of tasks tried several times are wider than of as many independent tries", () => {
    const tasks = Array.from({ length: 20 }, (_, i) => new Array<number>(10).fill(i % 2));
    const clustered = clusteredInterval(tasks);
    const naive = wilson(100, 200);
    expect(clustered.high - clustered.low).toBeGreaterThan(2 * (naive.high - naive.low));
  });
});
