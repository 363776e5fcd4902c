import { expect, test } from "vitest";
import { heldLine } from "../bench/systems/held-line.ts";
import type { Verdict } from "../src/recipe/claim.ts";

const verdict = (statement: string, seeds: number, holds: boolean): Verdict => ({
  claim: { statement, source: "here", method: "a", baseline: "b", measure: "m", want: "more", smallest: 0.1 },
  ...{ seeds, effect: 0, low: 0, high: 0, p: 1, holds },
});

test("what does not hold is said first, and by name", () => {
  const [yes, no, open] = [verdict("A is so.", 5, true), verdict("B is so.", 5, false), verdict("C is so.", 0, false)];
  expect(heldLine([yes])).toBe("**1 of 1 published claims hold here.**");
  expect(heldLine([no, no])).toBe("**0 of 2 published claims hold here; 2 do not.** Not held: “B is so”; “B is so”.");
  expect(heldLine([yes, no, open])).toBe(
    "**1 of 3 published claims hold here; 1 does not; 1 not run yet.** Not held: “B is so”. Not run yet: “C is so”.",
  );
  expect(heldLine([open, open])).toBe("**0 of 2 published claims hold here; 2 not run yet.**");
});
