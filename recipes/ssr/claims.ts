import type { Claim } from "ludus/recipe";

const source = "Self-play SWE-RL, arXiv 2512.18552";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const ssrClaims: readonly Claim[] = [
  {
    statement: "Self-play of an injector and a solver mends more bugs than its start.",
    source,
    method: "self-play",
    baseline: "start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "It mends more than as much repair of bugs that stay the same.",
    source,
    method: "self-play",
    baseline: "repair only",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "It mends more than learning to inject alone.",
    source,
    method: "self-play",
    baseline: "injection only",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "More of what the injector makes passes the consistency checks after self-play than before.",
    source: "a reading of self-play SWE-RL, arXiv 2512.18552, which pays −1 for what does not pass them",
    method: "self-play",
    baseline: "start",
    measure: "consistent",
    want: "more",
    smallest: 0.1,
  },
];
