import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const mathShepherdClaims: readonly Claim[] = [
  {
    statement: "Choosing the best of eight attempts by a process reward model beats one attempt.",
    source: "Math-Shepherd, arXiv 2312.08935",
    method: "best of 8 by steps",
    baseline: "one attempt",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "A process reward model chooses better than an outcome reward model.",
    source: "Math-Shepherd, arXiv 2312.08935",
    method: "best of 8 by steps",
    baseline: "best of 8 by outcome",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement:
      "The learned value of a turn goes with γ^(T−t) times the share of continuations that succeed from there.",
    source: "Math-Shepherd, arXiv 2312.08935: a step is as good as its potential to reach the answer",
    method: "value of turns",
    baseline: "value of other turns",
    measure: "correlation",
    want: "more",
    smallest: 0.3,
  },
];
