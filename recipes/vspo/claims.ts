import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const vspoClaims: readonly Claim[] = [
  {
    statement: "Rewarded in stages, the policy learns where exact match teaches it nothing.",
    source: "PRS and VSPO, arXiv 2512.07478",
    method: "GRPO, staged",
    baseline: "GRPO, exact match",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "VSPO with staged rewards is better than GRPO with exact match.",
    source: "PRS and VSPO, arXiv 2512.07478",
    method: "VSPO, staged",
    baseline: "GRPO, exact match",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "VSPO is better than GRPO with the same staged rewards.",
    source: "PRS and VSPO, arXiv 2512.07478",
    method: "VSPO, staged",
    baseline: "GRPO, staged",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
