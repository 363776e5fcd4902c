import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const echoTrapClaims: readonly Claim[] = [
  {
    statement:
      "A run that is switched to StarPO-S where the echo trap is seen ends better than the same run left alone.",
    source: "RAGEN, arXiv 2504.20073",
    method: "switched",
    baseline: "left alone",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "It loses less of the best that it had reached.",
    source: "RAGEN, arXiv 2504.20073",
    method: "switched",
    baseline: "left alone",
    measure: "lost",
    want: "less",
    smallest: 0.1,
  },
  {
    statement:
      "The collapse is not undone by training on: going back to a checkpoint from before beats switching where the run stands.",
    source: "RAGEN, arXiv 2504.20073",
    method: "switched",
    baseline: "switched, not gone back",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
];
