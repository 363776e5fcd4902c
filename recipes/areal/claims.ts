import type { Claim } from "ludus/recipe";

const source = "AReaL, arXiv 2505.24298";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const arealClaims: readonly Claim[] = [
  {
    statement: "Ordinary PPO learns less from rollouts that are four steps ahead than from its own.",
    source: `${source}, table 2`,
    method: "naive, staleness 4",
    baseline: "staleness 0",
    measure: "success",
    want: "less",
    smallest: 0.05,
  },
  {
    statement: "Decoupled PPO keeps with a staleness of 4 what ordinary PPO loses.",
    source: `${source}, table 2`,
    method: "decoupled, staleness 4",
    baseline: "naive, staleness 4",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "With a staleness of 16 decoupled PPO is still ahead of ordinary PPO.",
    source: `${source}, table 2`,
    method: "decoupled, staleness 16",
    baseline: "naive, staleness 16",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Without a bound decoupled PPO is ahead of ordinary PPO.",
    source: `${source}, table 2`,
    method: "decoupled, unbounded",
    baseline: "naive, unbounded",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Without a bound even decoupled PPO learns less than synchronous PPO.",
    source: `${source}, table 2`,
    method: "decoupled, unbounded",
    baseline: "staleness 0",
    measure: "success",
    want: "less",
    smallest: 0.02,
  },
  {
    statement: "One step of staleness already makes training faster.",
    source: `${source}, table 2`,
    method: "decoupled, staleness 1",
    baseline: "staleness 0",
    measure: "rate",
    want: "more",
    smallest: 5,
  },
  {
    statement: "Four steps of staleness make it faster than one.",
    source: `${source}, table 2`,
    method: "decoupled, staleness 4",
    baseline: "decoupled, staleness 1",
    measure: "rate",
    want: "more",
    smallest: 5,
  },
  {
    statement:
      "Sequences that take new weights in the middle make training faster than sequences that updates wait for.",
    source: `${source}, figure 6`,
    method: "decoupled, staleness 4",
    baseline: "decoupled, staleness 4, uninterrupted",
    measure: "rate",
    want: "more",
    smallest: 5,
  },
];
