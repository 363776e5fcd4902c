import type { Claim } from "ludus/recipe";

const tools = "early exploration of tools, as of SPEAR, arXiv 2509.22601; its means are others";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const explorationClaims: readonly Claim[] = [
  {
    statement:
      "Calls of random tools now and then, whose tokens are not learned from, find what the policy never tries.",
    source: tools,
    method: "random tools",
    baseline: "no exploration",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "A temperature that falls from above 1 to 1 finds more than one that is 1 throughout.",
    source:
      "annealed temperatures, as of Exploratory Annealed Decoding, arXiv 2510.05251, here over training and not within a text",
    method: "falling temperature",
    baseline: "no exploration",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "A bonus for tools that other attempts at the same task do not use finds more than none.",
    source: tools,
    method: "bonus for rare tools",
    baseline: "no exploration",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Beams that are kept different contain a solution more often than as many plain ones.",
    source: "Diverse Beam Search, arXiv 1610.02424",
    method: "diverse beams",
    baseline: "beams",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
];
