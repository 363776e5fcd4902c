import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const hindsightClaims: readonly Claim[] = [
  {
    statement:
      "Where the goal is almost never reached, attempts relabelled with what they reached at last teach to reach it.",
    source: "Hindsight Experience Replay, arXiv 1707.01495",
    method: "final",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.2,
  },
  {
    statement: "So do those relabelled, turn by turn, with what was reached later in the attempt.",
    source: "Hindsight Experience Replay, arXiv 1707.01495",
    method: "future",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.2,
  },
  {
    statement: "So do those relabelled with anything that was reached in the attempt.",
    source: "Hindsight Experience Replay, arXiv 1707.01495",
    method: "episode",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.2,
  },
  {
    statement: "What was reached later is a better goal than what was reached at last.",
    source: "Hindsight Experience Replay, arXiv 1707.01495",
    method: "future",
    baseline: "final",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "With importance weights policy gradients learn from relabelled attempts, too.",
    source: "Hindsight Policy Gradients, arXiv 1711.06006",
    method: "importance",
    baseline: "plain GRPO",
    measure: "success",
    want: "more",
    smallest: 0.2,
  },
  {
    statement: "They learn more than without the weights, as if the policy had been asked for what was reached.",
    source: "Hindsight Policy Gradients, arXiv 1711.06006",
    method: "importance",
    baseline: "uncorrected",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
];
