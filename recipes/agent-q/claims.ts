import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const agentQClaims: readonly Claim[] = [
  {
    statement: "Rejection fine-tuning improves the base agent.",
    source: "Agent Q, arXiv 2408.07199",
    method: "RFT",
    baseline: "base",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "DPO on whole trajectories is better than rejection fine-tuning.",
    source: "Agent Q, arXiv 2408.07199",
    method: "DPO",
    baseline: "RFT",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "DPO on steps that were searched (Agent Q) is better than DPO on whole trajectories.",
    source: "Agent Q, arXiv 2408.07199",
    method: "Agent Q",
    baseline: "DPO",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "With the self-critique Agent Q is better than without.",
    source: "Agent Q, arXiv 2408.07199",
    method: "Agent Q",
    baseline: "Agent Q without critique",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Search at test time improves the base agent.",
    source: "Agent Q, arXiv 2408.07199",
    method: "base + search",
    baseline: "base",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Search at test time improves Agent Q.",
    source: "Agent Q, arXiv 2408.07199",
    method: "Agent Q + search",
    baseline: "Agent Q",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
];
