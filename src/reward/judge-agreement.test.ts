import { expect, test } from "vitest";
import { judgeAgreement } from "./judge-agreement.ts";

const cases = (counts: readonly (readonly [judged: boolean, truth: boolean, count: number])[]) =>
  counts.flatMap(([judged, truth, count]) => Array.from({ length: count }, () => ({ judged, truth })));

test("Cohen's own kind of table: 20, 5, 10, 15", () => {
  const agreement = judgeAgreement(
    cases([
      [true, true, 20],
      [true, false, 5],
      [false, true, 10],
      [false, false, 15],
    ]),
  );
  expect(agreement).toMatchObject({
    count: 50,
    truePositives: 20,
    falsePositives: 5,
    falseNegatives: 10,
    trueNegatives: 15,
  });
  expect(agreement.accuracy).toBe(0.7);
  expect(agreement.precision).toBe(0.8);
  expect(agreement.recall).toBeCloseTo(2 / 3, 12);
  // chance: 0.5 * 0.6 + 0.5 * 0.4 = 0.5
  expect(agreement.kappa).toBeCloseTo(0.4, 12);
});

test("a judge that always says yes agrees by chance alone", () => {
  const agreement = judgeAgreement(
    cases([
      [true, true, 9],
      [true, false, 1],
    ]),
  );
  expect(agreement).toMatchObject({ accuracy: 0.9, precision: 0.9, recall: 1 });
  expect(agreement.kappa).toBeCloseTo(0, 12);
});

test("what cannot be computed is null, and no cases are an error", () => {
  expect(judgeAgreement(cases([[false, false, 3]]))).toMatchObject({
    accuracy: 1,
    precision: null,
    recall: null,
    kappa: null,
  });
  expect(() => judgeAgreement([])).toThrow("no-cases");
});
