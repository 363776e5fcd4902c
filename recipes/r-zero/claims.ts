import type { Claim } from "ludus/recipe";

const source = "R-Zero, arXiv 2508.05004";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const rZeroClaims: readonly Claim[] = [
  {
    statement:
      "A solver gets better by the majority of its own answers to questions that a challenger asks, without any label.",
    source,
    method: "R-Zero",
    baseline: "base",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "It takes a challenger that is trained: questions of the base model teach less.",
    source,
    method: "R-Zero",
    baseline: "untrained challenger",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement:
      "It takes the filter: without it, questions that are too easy or have a chance majority are learned from, too.",
    source,
    method: "R-Zero",
    baseline: "without filter",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "It takes the penalty for repetition.",
    source,
    method: "R-Zero",
    baseline: "without penalty",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "The labels that the solver gives itself get worse from round to round, as questions get harder.",
    source,
    method: "labels of the last round",
    baseline: "labels of the first round",
    measure: "labels",
    want: "less",
    smallest: 0.02,
  },
];
