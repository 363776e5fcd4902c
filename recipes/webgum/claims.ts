import type { Claim } from "ludus/recipe";

/** Written down before they are measured; see CONTRIBUTING.md, "Claims". */
export const webGumClaims: readonly Claim[] = [
  {
    statement: "With a picture of the page beside its text, more tasks are done than with the text alone.",
    source: "WebGUM, arXiv 2305.11854",
    method: "text and bitmap",
    baseline: "text",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
  {
    statement: "It gains where the text leaves open which element is meant.",
    source: "WebGUM, arXiv 2305.11854",
    method: "text and bitmap",
    baseline: "text",
    measure: "open",
    want: "more",
    smallest: 0.2,
  },
  {
    statement: "What it gains comes from what the picture shows: with blank pictures it is lost.",
    source: "WebGUM, arXiv 2305.11854",
    method: "text and bitmap",
    baseline: "text and blank bitmap",
    measure: "success",
    want: "more",
    smallest: 0.1,
  },
];
