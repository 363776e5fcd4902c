import { expect, test } from "vitest";
import { confirmPassed } from "./confirm-passed.ts";

const report = (...outcomes: string[]) => ({
  passed: outcomes.filter((outcome) => outcome === "passed").length,
  total: outcomes.length,
  results: outcomes.map((outcome, index) => ({ name: `${index}`, outcome })),
});

test("only what passed is run again, and what does not pass then is flaky", async () => {
  const asked: string[][] = [];
  const confirmed = await confirmPassed(report("passed", "failed", "passed"), ["a", "b", "c"], async (tests) => {
    asked.push([...tests]);
    return report("passed", "failed");
  });
  expect(asked).toEqual([["a", "c"]]);
  expect(confirmed).toMatchObject({ passed: 1, total: 3 });
  expect(confirmed.results).toEqual([
    { name: "0", outcome: "passed" },
    { name: "1", outcome: "failed" },
    { name: "2", outcome: "flaky", message: "it passed, and then: failed" },
  ]);
});

test("what was cancelled the second time says nothing about the test", async () => {
  const confirmed = await confirmPassed(report("passed"), ["a"], async () => report("cancelled"));
  expect(confirmed.results).toMatchObject([{ outcome: "cancelled" }]);
});
