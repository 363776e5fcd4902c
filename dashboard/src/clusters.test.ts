import { expect, test } from "vitest";
import type { ShownFinding } from "../../src/server/dashboard/answers.ts";
import { clusterFindings, severityOf } from "./clusters.ts";

const finding = (since: number, severity: ShownFinding["severity"] = "info"): ShownFinding => {
  return { code: `c${since}`, severity, message: "m", step: 99, since };
};

test("findings are where they began, close ones together with their number", () => {
  const clusters = clusterFindings(
    [finding(90), finding(10), finding(12, "error"), finding(14)],
    (step) => 2 * step,
    6,
  );
  expect(clusters.map(({ x, findings }) => [x, findings.map(({ since }) => since)])).toEqual([
    [20, [10, 12]],
    [28, [14]],
    [180, [90]],
  ]);
  expect(clusters.map(severityOf)).toEqual(["error", "info", "info"]);
});

test("of none there are none", () => {
  expect(clusterFindings([], (step) => step, 6)).toEqual([]);
});
