import type { Claim } from "ludus/recipe";

const source = "Agent-RLVR, arXiv 2506.11425";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const agentRlvrCodeClaims: readonly Claim[] = [
  {
    statement:
      "On repositories whose bugs are almost never fixed, attempts with guidance of all kinds teach a policy that then fixes them without.",
    source,
    method: "guided",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Plans alone do.",
    source,
    method: "plans",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Feedback on errors alone does.",
    source,
    method: "feedback",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Hints about the repository alone do.",
    source,
    method: "hints",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Guidance makes rewards less rare: more tasks have a success among their attempts.",
    source,
    method: "guided",
    baseline: "plain GRPO",
    measure: "signal",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Preferences (DPO) for guided attempts that pass the tests over attempts that fail them teach it, too.",
    source: "Agent-RLVR, arXiv 2506.11425, as secondary sources describe it",
    method: "guided, DPO",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "A reward model trained on the guided attempts chooses better than chance among eight.",
    source,
    method: "guided, best of eight",
    baseline: "guided, mean of eight",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
