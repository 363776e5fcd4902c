import { expect, test } from "vitest";
import { coverage, independentTries, type Setting, simulate } from "./fixtures/coverage.ts";
import { meanInterval, pairedDifference } from "./interval.ts";
import { passAtKInterval, passHatKInterval, successInterval } from "./success-interval.ts";

const settings: Setting[] = [0.02, 0.1, 0.5, 0.9, 0.98].flatMap((p) =>
  [50, 200, 500].flatMap((tasks) =>
    [1, 2, 8].flatMap((attempts) => (attempts === 1 ? [0] : [0, 0.3, 0.8]).map((rho) => ({ p, tasks, attempts, rho }))),
  ),
);

test.each(settings)("success: p $p, $tasks tasks, $attempts attempts, correlation $rho", (setting) => {
  const { p } = setting;
  const share = coverage(1000, p, (rng) => successInterval(simulate(setting, rng)));
  // a thousand runs are exact to 0.7 %. Below ten, a share takes few values, and too few successes show how much alike attempts are
  const isSparse = Math.min(p, 1 - p) * independentTries(setting) < 10;
  expect(share).toBeGreaterThan(isSparse ? 0.905 : 0.925);
  expect(share).toBeLessThan(isSparse ? 0.992 : 0.98);
});

/** E[chance^k] of a beta distribution. */
function power(p: number, rho: number, k: number): number {
  let product = 1;
  for (let j = 0; j < k; j++) product *= (p * (1 - rho) + j * rho) / (1 - rho + j * rho);
  return product;
}

const rates = [0.1, 0.3, 0.5, 0.8].flatMap((p) => [2, 4, 8].flatMap((k) => [0.1, 0.5].map((rho) => ({ p, k, rho }))));

test.each(rates)("pass@k and pass^k of 8 attempts at 100 tasks: p $p, k $k, correlation $rho", ({ p, k, rho }) => {
  const setting = { p, rho, tasks: 100, attempts: 8 };
  const atLeastOnce = 1 - power(1 - p, rho, k);
  const always = power(p, rho, k);
  const any = coverage(1000, atLeastOnce, (rng) => passAtKInterval(simulate(setting, rng), k));
  const all = coverage(1000, always, (rng) => passHatKInterval(simulate(setting, rng), k));
  for (const [share, truth] of [
    [any, atLeastOnce],
    [all, always],
  ]) {
    const isSparse = Math.min(truth, 1 - truth) * 100 < 10;
    expect(share).toBeGreaterThan(isSparse ? 0.9 : 0.925);
    expect(share).toBeLessThanOrEqual(isSparse ? 1 : 0.98);
  }
});

test("the mean of forty values, by Student's t", () => {
  const share = coverage(4000, 0, (rng) => meanInterval(Array.from({ length: 40 }, () => rng.normal())));
  expect(share).toBeGreaterThan(0.94);
  expect(share).toBeLessThan(0.96);
});

test("paired differences", () => {
  const share = coverage(1000, 0.1, (rng) => {
    const a_P = Array.from({ length: 200 }, () => (rng.next() < 0.4 ? 1 : 0));
    const b_P = a_P.map((success) => (rng.next() < (success === 1 ? 0.9 : 14 / 60) ? 1 : 0));
    return pairedDifference(a_P, b_P, { resamples: 1000 });
  });
  expect(share).toBeGreaterThan(0.93);
  expect(share).toBeLessThan(0.97);
});
