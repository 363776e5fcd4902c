import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const selfRewardingClaims: readonly Claim[] = [
  {
    statement: "A policy that rewards itself thinks better of itself than it is, more so than at the beginning.",
    source: "the agents' risk of Self-Rewarding Language Models, arXiv 2401.10020",
    method: "judged by itself",
    baseline: "warm start",
    measure: "overrated",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "With a tenth of its labels checked by a rule it overrates itself less.",
    source: "the agents' risk of Self-Rewarding Language Models, arXiv 2401.10020",
    method: "a tenth checked",
    baseline: "judged by itself",
    measure: "overrated",
    want: "less",
    smallest: 0.05,
  },
  {
    statement: "With a tenth of its labels checked by a rule it solves more.",
    source: "the agents' risk of Self-Rewarding Language Models, arXiv 2401.10020",
    method: "a tenth checked",
    baseline: "judged by itself",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Judging itself, the policy gets better over the rounds.",
    source: "Self-Rewarding Language Models, arXiv 2401.10020",
    method: "judged by itself",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
