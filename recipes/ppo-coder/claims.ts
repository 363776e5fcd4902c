import type { Claim } from "ludus/recipe";

const source = "PPOCoder, arXiv 2301.13816";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const ppoCoderClaims: readonly Claim[] = [
  {
    statement: "More programs compile after PPO than after imitation.",
    source,
    method: "compiler, trees and data flow",
    baseline: "imitation",
    measure: "compiles",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "Matching trees and data flow lead to more right programs than the compiler's word alone.",
    source,
    method: "compiler, trees and data flow",
    baseline: "compiler",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Unit tests in place of the compiler lead to more right programs than imitation.",
    source,
    method: "tests, trees and data flow",
    baseline: "imitation",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Without the penalty for leaving the first policy, fewer programs are right.",
    source,
    method: "compiler, trees and data flow",
    baseline: "compiler, trees and data flow, no KL",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
];
