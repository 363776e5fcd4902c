import type { Claim } from "ludus/recipe";

const source = "DeepSWE (Together AI and Agentica, 2025), in the environment of R2E-Gym, arXiv 2504.07164";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const deepSweClaims: readonly Claim[] = [
  {
    statement: "Reinforcement by hidden tests alone mends more bugs of repositories than its start.",
    source,
    method: "GRPO++",
    baseline: "warm start",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Leaving attempts that hit a limit out of the loss mends more bugs than learning from them.",
    source,
    method: "GRPO++",
    baseline: "without compact filtering",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "GRPO++ mends more bugs than GRPO with a KL penalty.",
    source,
    method: "GRPO++",
    baseline: "GRPO",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "Of sixteen attempts, a learned verifier and execution together choose better than the verifier alone.",
    source,
    method: "hybrid of 16",
    baseline: "verifier of 16",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
  {
    statement: "They choose better than execution alone.",
    source,
    method: "hybrid of 16",
    baseline: "execution of 16",
    measure: "success",
    want: "more",
    smallest: 0.02,
  },
];
