import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const searchR1Claims: readonly Claim[] = [
  {
    statement: "GRPO with search in the episode answers more questions than retrieval put before the question.",
    source: "Search-R1, arXiv 2503.09516",
    method: "GRPO",
    baseline: "RAG",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "PPO with search in the episode answers more questions than retrieval put before the question.",
    source: "Search-R1, arXiv 2503.09516",
    method: "PPO",
    baseline: "RAG",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "Learning is better where retrieved tokens are masked.",
    source: "Search-R1, arXiv 2503.09516",
    method: "GRPO",
    baseline: "GRPO, retrieved tokens not masked",
    measure: "success",
    want: "more",
    smallest: 0.03,
  },
  {
    statement: "GRPO learns faster than PPO.",
    source: "Search-R1, arXiv 2503.09516",
    method: "GRPO",
    baseline: "PPO",
    measure: "early",
    want: "more",
    smallest: 0.02,
  },
  {
    statement:
      "With rewards for the answer and its format alone, a model that was shown no searches learns to search and answers more questions.",
    source: "ReSearch, arXiv 2503.19470",
    method: "ReSearch",
    baseline: "start of ReSearch",
    measure: "success",
    want: "more",
    smallest: 0.05,
  },
  {
    statement: "A model that was shown no searches comes to search more often where a question needs two facts.",
    source: "ReSearch, arXiv 2503.19470",
    method: "ReSearch",
    baseline: "start of ReSearch",
    measure: "searchesTwo",
    want: "more",
    smallest: 0.3,
  },
];
