import type { Claim } from "ludus/recipe";

const source = "CodeRL, arXiv 2207.01780";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const codeRlClaims: readonly Claim[] = [
  {
    statement:
      "Reinforcement by unit tests, alternated with imitation, writes more right programs than imitation alone.",
    source,
    method: "critic-weighted",
    baseline: "imitation",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Tokens weighted by the critic lead to more right programs than the same return for every token.",
    source,
    method: "critic-weighted",
    baseline: "same return for every token",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Critic sampling hands in more right programs than as many plain samples.",
    source,
    method: "critic sampling",
    baseline: "plain sampling",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "The critic's word for a program falls at a mistake that is put into it, more than elsewhere.",
    source: "a reading of CodeRL, arXiv 2207.01780, whose critic scores tokens",
    method: "critic, at the mistake",
    baseline: "critic, elsewhere",
    measure: "drop",
    want: "more",
    smallest: 0.1,
  },
];
