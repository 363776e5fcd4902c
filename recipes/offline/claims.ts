import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const offlineClaims: readonly Claim[] = [
  {
    statement: "Fine-tuned on its own attempts that succeeded, the policy solves more than before.",
    source: "rejection sampling fine-tuning, arXiv 2308.01825",
    method: "RFT",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "By DPO on pairs of its own attempts the policy solves more than before.",
    source: "Direct Preference Optimization, arXiv 2305.18290",
    method: "DPO",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "By KTO on its own attempts, good and bad, without pairs, the policy solves more than before.",
    source: "KTO, arXiv 2402.01306",
    method: "KTO",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement:
      "KTO comes as far as DPO, though nobody tells it which attempts belong together: it solves more than RFT.",
    source: "KTO, arXiv 2402.01306",
    method: "KTO",
    baseline: "RFT",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Pairs of single turns, compared where attempts parted, teach more than pairs of whole attempts.",
    source: "Agent Q, arXiv 2408.07199",
    method: "DPO, turn by turn",
    baseline: "DPO",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
