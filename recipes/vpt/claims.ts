import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const vptClaims: readonly Claim[] = [
  {
    statement: "What was done between two frames is learned from fewer labels than what to do next.",
    source: "Video PreTraining, arXiv 2206.11795",
    method: "inverse dynamics",
    baseline: "labelled alone",
    measure: "accuracy",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Videos that a model of inverse dynamics labelled make a better clone than the labelled episodes alone.",
    source: "Video PreTraining, arXiv 2206.11795",
    method: "videos",
    baseline: "labelled alone",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Reinforcement learning makes the clone better.",
    source: "Video PreTraining, arXiv 2206.11795",
    method: "videos, then RL",
    baseline: "videos",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "From the clone, reinforcement learning gets where it does not get from scratch.",
    source: "Video PreTraining, arXiv 2206.11795",
    method: "videos, then RL",
    baseline: "RL from scratch",
    measure: "success",
    want: "more",
    smallest: 0.3,
  },
];
