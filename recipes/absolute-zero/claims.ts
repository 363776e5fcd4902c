import type { Claim } from "ludus/recipe";

const source = "Absolute Zero, arXiv 2505.03335";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const absoluteZeroClaims: readonly Claim[] = [
  {
    statement:
      "A model that proposes tasks to itself and learns from solving them gets better at tasks of people, without any data from outside.",
    source,
    method: "Absolute Zero",
    baseline: "base",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "It takes a proposer that is trained: with the solver alone trained, less is learned.",
    source,
    method: "Absolute Zero",
    baseline: "proposer not trained",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "All three kinds of tasks are needed: with deduction alone, less is learned.",
    source,
    method: "Absolute Zero",
    baseline: "deduction only",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Proposals that are asked for with earlier ones as references teach more than proposals without.",
    source,
    method: "Absolute Zero",
    baseline: "without references",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement:
      "A baseline for each kind of task and each role (TRR++) lets it learn more than one baseline for all (REINFORCE++).",
    source,
    method: "Absolute Zero",
    baseline: "one baseline",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
