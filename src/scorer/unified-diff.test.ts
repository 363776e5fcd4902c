import { expect, test } from "vitest";
import { unifiedDiff } from "./unified-diff.ts";

const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index}`);

test("a change keeps three lines around it", () => {
  const a = lines(9);
  const b = a.with(4, "changed");
  expect(unifiedDiff(a, b, { fromFile: "old", toFile: "new", lineEnd: "" })).toEqual([
    "--- old",
    "+++ new",
    "@@ -2,7 +2,7 @@",
    " line 1",
    " line 2",
    " line 3",
    "-line 4",
    "+changed",
    " line 5",
    " line 6",
    " line 7",
  ]);
});

test("changes far apart are two hunks, near ones are one", () => {
  const headers = (gap: number) =>
    unifiedDiff(
      lines(20),
      lines(20)
        .with(2, "x")
        .with(2 + gap, "y"),
    ).filter((line) => line.startsWith("@@"));
  expect(headers(7)).toEqual(["@@ -1,13 +1,13 @@\n"]);
  expect(headers(8)).toEqual(["@@ -1,6 +1,6 @@\n", "@@ -8,7 +8,7 @@\n"]);
});

test("empty and one-line ranges", () => {
  expect(unifiedDiff([], ["a"], { lineEnd: "" })[2]).toBe("@@ -0,0 +1 @@");
  expect(unifiedDiff(["a"], [], { lineEnd: "" })[2]).toBe("@@ -1 +0,0 @@");
  expect(unifiedDiff(["a", "b"], ["a", "c"], { context: 0, lineEnd: "" })[2]).toBe("@@ -2 +2 @@");
});

test("nothing changed, no lines; dates follow a tab", () => {
  expect(unifiedDiff(["a"], ["a"])).toEqual([]);
  expect(unifiedDiff([], [])).toEqual([]);
  expect(unifiedDiff(["a"], ["b"], { fromFile: "f", fromDate: "2020" })[0]).toBe("--- f\t2020\n");
});
