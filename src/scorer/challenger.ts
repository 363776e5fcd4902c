import { LudusError } from "../errors.ts";

// What the one who sets a task is paid, by the share `p` of attempts that solved it. Published curves, as they are.

/**
 * R-Zero (arXiv 2508.05004), most at one half. There `p` is the share of the most frequent answer, since nobody knows the right one. The paper has
 * 1 - 2|p - 1/2|, its code half of that.
 */
export function rZeroChallenger(p: number, version: "paper" | "code" = "code"): number {
  checkShare(p);
  const uncertainty = Math.min(p, 1 - p);
  return version === "paper" ? 2 * uncertainty : uncertainty;
}

/** Absolute Zero (arXiv 2505.03335): 1 - p, and -0.5 where none or all succeeded. The harder the better, as long as it can be done. */
export function absoluteZeroProposer(p: number): number {
  checkShare(p);
  return p > 0 && p < 1 ? 1 - p : -0.5;
}

/** Self-play SWE-RL (arXiv 2512.18552): 1 - (1 + α)p, and -α where none or all succeeded. */
export function ssrInjector(p: number, alpha = 0.8): number {
  checkShare(p);
  return p > 0 && p < 1 ? 1 - (1 + alpha) * p : -alpha;
}

/** What a curve pays on average where each of `attempts` succeeds with probability `p`. */
export function expectedChallengerReward(curve: (p: number) => number, p: number, attempts: number): number {
  checkShare(p);
  let sum = 0;
  let ways = 1;
  for (let k = 0; k <= attempts; k++) {
    sum += ways * p ** k * (1 - p) ** (attempts - k) * curve(k / attempts);
    ways = (ways * (attempts - k)) / (k + 1);
  }
  return sum;
}

function checkShare(p: number): void {
  if (p >= 0 && p <= 1) return;
  throw new LudusError("bad-share", { got: `${p}`, expected: "a share of attempts, 0 to 1" });
}
