import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const rewardEnsemblesClaims: readonly Claim[] = [
  {
    statement: "Optimising one learned reward long enough makes the policy worse at what was meant.",
    source: "Coste et al., arXiv 2310.02743",
    method: "one model",
    baseline: "warm start",
    measure: "success",
    want: "less",
    smallest: 0.03,
  },
  {
    statement: "The worst case of several models keeps more of what was meant.",
    source: "Coste et al., arXiv 2310.02743",
    method: "worst of four",
    baseline: "one model",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "The mean less the variance of several models keeps more of what was meant.",
    source: "Coste et al., arXiv 2310.02743",
    method: "mean less variance of four",
    baseline: "one model",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "The mean of several models keeps more of what was meant.",
    source: "Coste et al., arXiv 2310.02743",
    method: "mean of four",
    baseline: "one model",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "Stopped by the doctor, one model leaves a better policy than when it is left alone.",
    source: "Coste et al., arXiv 2310.02743, with Ludus's detector of grader hacking",
    method: "one model, stopped by the doctor",
    baseline: "one model",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
