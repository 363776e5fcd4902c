import type { Claim } from "ludus/recipe";

const source = "ReFT, arXiv 2401.08967";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const reftClaims: readonly Claim[] = [
  {
    statement: "PPO after a warm-up answers more questions than the warm-up.",
    source,
    method: "ReFT",
    baseline: "warm-up",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "It answers more than imitation of the same questions for as long.",
    source,
    method: "ReFT",
    baseline: "imitation, longer",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "It is ahead with a majority vote over eight attempts too.",
    source,
    method: "ReFT, vote of eight",
    baseline: "imitation, longer, vote of eight",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
