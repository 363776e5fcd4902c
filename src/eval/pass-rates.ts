import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";

// n attempts at a task, c of them right.

/** Chance that at least one of k attempts is right, unbiased from n attempts: 1 - C(n-c, k) / C(n, k). */
export function passAtK(n: number, c: number, k: number): number {
  check(n, c, k);
  return 1 - chooseRatio(n - c, n, k);
}

/** Chance that all of k attempts are right (tau-bench's pass^k), unbiased from n attempts: C(c, k) / C(n, k). */
export function passHatK(n: number, c: number, k: number): number {
  check(n, c, k);
  return chooseRatio(c, n, k);
}

/** C(a, k) / C(n, k) for a <= n, as a product: the binomials themselves overflow. */
function chooseRatio(a: number, n: number, k: number): number {
  if (a < k) return 0;
  let ratio = 1;
  for (let i = 0; i < k; i++) ratio *= (a - i) / (n - i);
  return ratio;
}

function check(n: number, c: number, k: number): void {
  if ([n, c, k].every(Number.isInteger) && c >= 0 && c <= n && k >= 1 && k <= n) return;
  throw new LudusError("bad-pass-rate", {
    got: `n = ${n}, c = ${c}, k = ${k}`,
    expected: "whole numbers with 0 <= c <= n and 1 <= k <= n",
    ...defined({ hint: k > n ? `Sample at least ${k} attempts for each task.` : undefined }),
  });
}

/** The attempt a scorer likes best, the first of equals. */
export function bestOf<Attempt>(
  attempts: readonly Attempt[],
  score: (attempt: Attempt) => number,
): Attempt | undefined {
  let best: { attempt: Attempt; value: number } | undefined;
  for (const attempt of attempts) {
    const value = score(attempt);
    if (best === undefined || value > best.value) best = { attempt, value };
  }
  return best?.attempt;
}
