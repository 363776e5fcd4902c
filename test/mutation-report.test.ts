import { expect, test } from "vitest";
import type { EquivalentMutant } from "../scripts/mutation/equivalent-mutants.ts";
import {
  mutationReport,
  type Outcome,
  onOneLine,
  summaryLine,
  survivorLine,
  type TestedMutant,
} from "../scripts/mutation/mutation-report.ts";
import { isSampled } from "../scripts/mutation/sample-checker.ts";

const mutant = (outcome: Outcome, fields: Partial<TestedMutant> = {}): TestedMutant => ({
  file: "src/a.ts",
  line: 3,
  lineText: "if (a < b) return;",
  original: "a < b",
  replacement: "a <= b",
  outcome,
  ...fields,
});
const entry: EquivalentMutant = { file: "src/a.ts", original: "a < b", replacement: "a <= b", reason: "…" };

test("the score is the share that a failure or a timeout noticed; what could not be run does not count", () => {
  const outcomes = ["killed", "killed", "timeout", "survived", "no-coverage", "invalid"] as const;
  const report = mutationReport(
    outcomes.map((outcome) => mutant(outcome)),
    [],
  );
  expect(report).toMatchObject({ killed: 2, timeout: 1, survived: 2, equivalent: 0, invalid: 1, score: 60 });
  expect(summaryLine(report)).toBe("2 killed, 1 timed out, 2 survived, 0 equivalent: score 60.0 %");
  expect(mutationReport([], []).score).toBe(100);
});

test("equivalent mutants are neither survivors nor part of the score", () => {
  const report = mutationReport([mutant("killed"), mutant("survived")], [entry]);
  expect(report).toMatchObject({ score: 100, survived: 0, equivalent: 1, survivors: [], stale: [] });
});

test.each([
  ["another file", { file: "src/b.ts" }],
  ["other code", { original: "b < a" }],
  ["another replacement", { replacement: "a >= b" }],
  ["another line", { line: "while (a < b) a++;" }],
])("an entry about %s excuses nothing", (_, fields) => {
  const report = mutationReport(
    [mutant("survived"), mutant("killed", { file: "src/b.ts" })],
    [{ ...entry, ...fields }],
  );
  expect(report.survived).toBe(1);
  expect(report.stale).toHaveLength(1);
});

test("an entry whose mutant is killed is stale; one about a file that was not mutated is left alone", () => {
  expect(mutationReport([mutant("killed")], [entry]).stale).toEqual([entry]);
  expect(mutationReport([mutant("killed", { file: "src/b.ts" })], [entry]).stale).toEqual([]);
});

test("a survivor is printed on one line", () => {
  expect(survivorLine(mutant("survived"))).toBe("src/a.ts:3: a < b -> a <= b");
  const block = onOneLine(`{\n  ${"run();\n  ".repeat(40)}}`);
  const line = survivorLine(mutant("no-coverage", { original: block, replacement: "{}" }));
  expect(line).toMatch(/^src\/a\.ts:3: \{ run\(\); .*… -> \{\} \(no test executes it\)$/);
  expect(line.length).toBeLessThan(160);
});

test("a sample is the share that was asked for, the same wherever the copy lies, and part of any larger one", () => {
  const mutants = Array.from({ length: 2000 }, (_, line) => ({
    fileName: "/tmp/copy/src/a.ts",
    location: { start: { line, column: 4 }, end: { line, column: 9 } },
    replacement: "true",
  }));
  const sample = mutants.filter((each) => isSampled(each, 0.3));
  expect(sample.length / mutants.length).toBeCloseTo(0.3, 1);
  expect(sample.every((each) => isSampled({ ...each, fileName: "/elsewhere/src/a.ts" }, 0.3))).toBe(true);
  expect(sample.every((each) => isSampled(each, 0.5))).toBe(true);
  expect(mutants.every((each) => isSampled(each, 1))).toBe(true);
});
