import { describe, expect, test } from "vitest";
import * as tensor from "../index.ts";
import { operatorCases } from "../testing/cases/index.ts";
import { checkOperator, worstDifference } from "../testing/check-operator.ts";
import type { Numbers } from "../testing/numbers.ts";

const notOperators = [
  ...["Graph", "Node", "Value", "TensorError"],
  ...["accumulateGradients", "concreteShape", "differentiate", "product", "toOnnx"],
];
const seeds = [1, 2, 3, 4];

test("every exported operator has cases", () => {
  const exported = Object.keys(tensor).filter((name) => !notOperators.includes(name));
  const checked = new Set(operatorCases.map(({ operator }) => operator));
  expect(
    exported.filter((name) => !checked.has(name)),
    "add cases in src/tensor/testing/cases/",
  ).toEqual([]);
});

// Values against a plain reference, gradients of each element against finite differences of that reference.
describe.each([...Map.groupBy(operatorCases, ({ operator }) => operator)])("%s", (_, cases) => {
  test.each(cases)("$about", async (operatorCase) => {
    for (const seed of seeds) {
      const { outputs, gradients, runs } = await checkOperator(operatorCase, seed);
      for (const { actual, expected } of outputs) {
        expect(worstDifference(actual, expected), show("value", actual, expected)).toBeLessThan(1e-5);
      }
      for (const { actual, expected } of gradients) {
        expect(worstDifference(actual, expected), show("gradient", actual, expected)).toBeLessThan(1e-4);
      }
      expect(runs[0], "two runs give the same bits").toEqual(runs[1]);
    }
  });
});

function show(what: string, actual: Numbers, expected: Numbers): string {
  return `${what} [${actual.shape}] ${actual.data} should be [${expected.shape}] ${expected.data}`;
}
