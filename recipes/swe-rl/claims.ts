import type { Claim } from "ludus/recipe";

const source = "SWE-RL, arXiv 2502.18449";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const sweRlClaims: readonly Claim[] = [
  {
    statement: "Reinforcement by similarity to the fix that was made mends more bugs than imitation.",
    source,
    method: "similarity",
    baseline: "imitation",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Similarity ranks some wrong fixes above right ones; tests rank none so.",
    source: "the published scorer of SWE-RL, arXiv 2502.18449, which gives a wrong fix of a small file 0.98",
    method: "similarity",
    baseline: "tests",
    measure: "misranked",
    want: "more",
    smallest: 0.01,
  },
  {
    statement: "Tests mend more bugs than similarity after as many steps.",
    source: "a reading of SWE-RL, arXiv 2502.18449: its reward runs no test",
    method: "tests",
    baseline: "similarity",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "Similarity first and tests later mend more bugs than similarity throughout.",
    source: "a reading of SWE-RL, arXiv 2502.18449: its reward runs no test",
    method: "similarity, then tests",
    baseline: "similarity",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
