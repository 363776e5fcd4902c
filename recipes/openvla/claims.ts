import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const openVlaClaims: readonly Claim[] = [
  {
    statement:
      "Bins between the 1st and the 99th percentile keep the granularity that outliers take from bins between extremes.",
    source: "OpenVLA, arXiv 2406.09246",
    method: "quantiles, 256 bins",
    baseline: "extremes, 256 bins",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "256 bins for each dimension are fine enough for what a few are too coarse for.",
    source: "OpenVLA, arXiv 2406.09246",
    method: "quantiles, 256 bins",
    baseline: "quantiles, 8 bins",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Few demonstrations of a new arm teach more to a policy of another arm than to one from scratch.",
    source: "OpenVLA, arXiv 2406.09246",
    method: "new arm, adapted",
    baseline: "new arm, from scratch",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "A new arm needs adaptation: without it the policy of another arm does worse.",
    source: "OpenVLA, arXiv 2406.09246",
    method: "new arm, adapted",
    baseline: "new arm, not adapted",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
];
