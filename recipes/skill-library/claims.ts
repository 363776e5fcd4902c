import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const skillLibraryClaims: readonly Claim[] = [
  {
    statement: "Skills that one agent found out and wrote down let another do tasks that it was not trained on.",
    source: "Voyager, arXiv 2305.16291",
    method: "shared skills",
    baseline: "no skills",
    measure: "success",
    want: "more",
    smallest: 0.3,
  },
  {
    statement: "With them a task takes fewer turns than finding it out again.",
    source: "Voyager, arXiv 2305.16291",
    method: "shared skills",
    baseline: "finding out",
    measure: "turns",
    want: "less",
    smallest: 1,
  },
];
