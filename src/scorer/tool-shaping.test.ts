import { expect, test } from "vitest";
import { type ShapedCall, toolShapingScore } from "./tool-shaping.ts";

const call = (name: string, query: string, outcome: ShapedCall["outcome"] = "ok"): ShapedCall => ({
  name,
  arguments: { query },
  outcome,
});

test("the bonus comes once", () => {
  expect(toolShapingScore([call("search", "a"), call("search", "b")], { relevant: ["search"] })).toBe(0.1);
  expect(toolShapingScore([call("search", "a")])).toBe(0);
  expect(toolShapingScore([call("search", "a", "unknown-tool")], { relevant: ["search"] })).toBe(-0.3);
});

test("only consecutive calls with equal arguments are duplicates", () => {
  expect(toolShapingScore([call("s", "a"), call("s", "a"), call("s", "a")])).toBeCloseTo(-0.1, 12);
  expect(toolShapingScore([call("s", "a"), call("s", "b"), call("s", "a")])).toBe(0);
  const reordered: ShapedCall[] = [
    { name: "s", arguments: { a: 1, b: 2 }, outcome: "ok" },
    { name: "s", arguments: { b: 2, a: 1 }, outcome: "ok" },
  ];
  expect(toolShapingScore(reordered)).toBe(-0.05);
});

test("the sum is capped", () => {
  const invented = Array.from({ length: 9 }, (_, index) => call("x", `${index}`, "unknown-tool"));
  expect(toolShapingScore(invented)).toBe(-0.3);
  expect(toolShapingScore(invented, { cap: 2 })).toBe(-2);
});
