import { expect, test } from "vitest";
import { checkWholeOptions } from "./check-options.ts";

test("whole numbers within the bounds pass, both ends included", () => {
  expect(() => checkWholeOptions("lake", { turns: [1, 1, 9], size: [9, 1, 9] })).not.toThrow();
});

test.each([0, 10, 2.5, Number.NaN, Number.POSITIVE_INFINITY])(
  "%s is refused, with its name and its bounds",
  (value) => {
    expect(() => checkWholeOptions("lake", { turns: [value, 1, 9] })).toThrow(`turns = ${value} of lake`);
    expect(() => checkWholeOptions("lake", { turns: [value, 1, 9] })).toThrow("a whole number, 1 to 9");
  },
);
