import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const toolRlClaims: readonly Claim[] = [
  {
    statement: "GRPO with the fine-grained reward beats imitation of right demonstrations of the same tasks.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "SFT",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "GRPO with the fine-grained reward improves the model it starts from.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "The fine-grained reward is better than the intermediate one.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "GRPO, intermediate",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "The fine-grained reward is better than the coarse one.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "GRPO, coarse",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "The fine-grained reward is learned from faster than the coarse one.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "GRPO, coarse",
    measure: "early",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "GRPO from the model as it is beats GRPO after imitation.",
    source: "ToolRL, arXiv 2504.13958",
    method: "GRPO, fine",
    baseline: "GRPO, fine, after SFT",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
