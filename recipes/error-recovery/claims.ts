import type { Claim } from "ludus/recipe";

const source = "the concern of Agent-R, arXiv 2501.11425: agents that cannot recover from errors; its means are others";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const errorRecoveryClaims: readonly Claim[] = [
  {
    statement: "Trained where calls fail now and then, the policy makes more of them good than before training.",
    source,
    method: "calls fail",
    baseline: "warm start",
    measure: "recovery",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "It takes the failures: a policy that was trained with tools that never fail makes fewer of them good.",
    source,
    method: "calls fail",
    baseline: "calls never fail",
    measure: "recovery",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Where calls fail, it solves more than a policy that was trained with tools that never fail.",
    source,
    method: "calls fail",
    baseline: "calls never fail",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Rewarded for retries, too, it makes more failed calls good than by the outcome alone.",
    source,
    method: "calls fail, retries rewarded",
    baseline: "calls fail",
    measure: "recovery",
    want: "more",
    smallest: 0.03,
  },
];
