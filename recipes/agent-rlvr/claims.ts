import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const agentRlvrClaims: readonly Claim[] = [
  {
    statement:
      "Where rewards are almost never seen, attempts with guidance of all kinds teach a policy that then succeeds without.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "guided",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "Plans alone do.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "plans",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Feedback on errors alone does.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "feedback",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Hints about the environment alone do.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "hints",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Guidance makes rewards less rare: more tasks have a success among their attempts.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "guided",
    baseline: "plain GRPO",
    measure: "signal",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "A reward model trained on the guided attempts chooses better than chance among eight.",
    source: "Agent-RLVR, arXiv 2506.11425",
    method: "guided, best of eight",
    baseline: "guided, mean of eight",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
