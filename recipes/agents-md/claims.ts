import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const agentsMdClaims: readonly Claim[] = [
  {
    statement:
      "Agents follow what a repository's context file asks for: with the file they do it, without it they do not.",
    source: "Evaluating AGENTS.md, arXiv 2602.11988",
    method: "with AGENTS.md",
    baseline: "without AGENTS.md",
    measure: "success",
    want: "more",
    smallest: 0.3,
  },
  {
    statement: "It is the file that they follow: taken away, what was learned with it is of no use.",
    source: "Evaluating AGENTS.md, arXiv 2602.11988",
    method: "with AGENTS.md",
    baseline: "with AGENTS.md, taken away",
    measure: "success",
    want: "more",
    smallest: 0.3,
  },
  {
    statement: "The file costs: an episode takes at least a fifth more tokens.",
    source: "Evaluating AGENTS.md, arXiv 2602.11988",
    method: "with AGENTS.md",
    baseline: "without AGENTS.md",
    measure: "tokensOfWithout",
    want: "more",
    smallest: 0.2,
  },
];
