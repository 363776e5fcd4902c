import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const searchClaims: readonly Claim[] = [
  {
    statement: "Tree search at test time solves more than the policy alone.",
    source: "Agent Q, arXiv 2408.07199",
    method: "MCTS at test time",
    baseline: "policy",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "A policy that learns what the search found solves more than it did before.",
    source: "Agent Q, arXiv 2408.07199",
    method: "distilled from MCTS",
    baseline: "policy",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Learning from the search beats imitation of the policy's own successes out of as many sampled turns.",
    source: "Agent Q, arXiv 2408.07199",
    method: "distilled from MCTS",
    baseline: "rejection tuning, as many turns",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "At test time the policy that learned from the search still gains from searching.",
    source: "Agent Q, arXiv 2408.07199",
    method: "distilled, MCTS at test time",
    baseline: "distilled from MCTS",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
