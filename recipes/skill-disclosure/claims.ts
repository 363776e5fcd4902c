import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const skillDisclosureClaims: readonly Claim[] = [
  {
    statement: "Telling only what a request needs takes less than half of the tokens of telling everything.",
    source: "RAG-MCP, arXiv 2505.03275",
    method: "disclosed",
    baseline: "everything",
    measure: "tokensOfEverything",
    want: "less",
    smallest: 0.5,
  },
  {
    statement: "Telling only what a request needs makes an agent right more often than telling everything.",
    source: "RAG-MCP, arXiv 2505.03275",
    method: "disclosed",
    baseline: "everything",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
];
