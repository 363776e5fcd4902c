import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const agentFlanClaims: readonly Claim[] = [
  {
    statement: "With negative samples, fewer calls are made where no tool fits.",
    source: "Agent-FLAN, arXiv 2403.12881",
    method: "with negatives",
    baseline: "without negatives",
    measure: "hallucinated",
    want: "less",
    smallest: 0.2,
  },
  {
    statement: "Negative samples do not cost the calls that are right.",
    source: "Agent-FLAN, arXiv 2403.12881",
    method: "with negatives",
    baseline: "half the demonstrations",
    measure: "success",
    want: "more",
    smallest: 0.01,
  },
  {
    statement: "Trained on agents' data alone, the policy loses what it could do in general.",
    source: "AgentTuning, arXiv 2310.12823",
    method: "η = 1",
    baseline: "η = 0.2",
    measure: "general",
    want: "less",
    smallest: 0.1,
  },
  {
    statement: "With a fifth of agents' data it still learns the agents' task.",
    source: "AgentTuning, arXiv 2310.12823",
    method: "η = 0.2",
    baseline: "η = 0",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
];
