import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const r1ZeroClaims: readonly Claim[] = [
  {
    statement: "From right answers and the format alone, the policy solves more.",
    source: "DeepSeek-R1, arXiv 2501.12948",
    method: "R1-Zero",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "Thoughts grow as it learns.",
    source: "DeepSeek-R1, arXiv 2501.12948",
    method: "R1-Zero",
    baseline: "warm start",
    measure: "thought",
    want: "more",
    smallest: 2,
  },
  {
    statement: "With thoughts it comes to solve more than without.",
    source: "DeepSeek-R1, arXiv 2501.12948",
    method: "R1-Zero",
    baseline: "without thoughts",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
