import { expect, test } from "vitest";
import { metric } from "../../schema/metric-names.ts";
import type { RunView } from "./detector.ts";
import { detect } from "./diagnose.ts";
import { sinceSteps } from "./since.ts";

/** A run whose groups are all alike from a step on. */
function view(steps: number, uniformFrom: number): RunView {
  const points = (of: (step: number) => number) =>
    Array.from({ length: steps }, (_, step) => ({ step, value: of(step), max: of(step) }));
  const isUniform = (step: number) => (step >= uniformFrom ? 1 : 0);
  const series = new Map<string, ReturnType<typeof points>>([
    [metric.reward, points((step) => 0.5 + 0.1 * (step % 3))],
    [metric.uniform, points(isUniform)],
    [metric.uniformFail, points(isUniform)],
  ]);
  return { series: (name) => series.get(name) ?? [], groups: [], config: {}, events: [] };
}

test("a finding began where it would have been said first, and is not marked at the last step", () => {
  const run = view(300, 200);
  expect(detect(run).map(({ code }) => code)).toContain("zero-variance");
  const since = sinceSteps(run, ["zero-variance"]).get("zero-variance")!;
  expect(since).toBeGreaterThanOrEqual(200);
  expect(since).toBeLessThan(225);
  const truncated = (last: number) =>
    detect({ ...run, series: (name) => run.series(name).filter(({ step }) => step <= last) });
  expect(truncated(since).map(({ code }) => code)).toContain("zero-variance");
  expect(truncated(since - 1).map(({ code }) => code)).not.toContain("zero-variance");
});

test("a run without steps has no beginning of anything", () => {
  expect(sinceSteps(view(0, 0), ["zero-variance"]).size).toBe(0);
});
