import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const instructionHierarchyClaims: readonly Claim[] = [
  {
    statement: "Training to put the user's words above a tool's results makes an agent break its rules less often.",
    source: "The Instruction Hierarchy, arXiv 2404.13208",
    method: "GRPO",
    baseline: "warm start",
    measure: "violations",
    want: "less",
    smallest: 100,
  },
  {
    statement: "It resists injections that training never showed.",
    source: "The Instruction Hierarchy, arXiv 2404.13208",
    method: "GRPO",
    baseline: "warm start",
    measure: "resisted",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "It does what the user asked for, within the rules, more often.",
    source: "The Instruction Hierarchy, arXiv 2404.13208",
    method: "GRPO",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Injections in training are what it learns to resist unseen ones from.",
    source: "The Instruction Hierarchy, arXiv 2404.13208",
    method: "GRPO",
    baseline: "GRPO without injections",
    measure: "resisted",
    want: "more",
    smallest: 0.1,
  },
];
