import { expect, test } from "vitest";
import { near } from "./contract/make-row.ts";
import { isUniform, meanOf, stdOf, whitenMasked } from "./statistics.ts";

test("golden: both deviations", () => {
  const values = [1, 0, 0, 1, 0, 0, 0, 0];
  expect(stdOf(values)).toBeCloseTo(0.46291, 6);
  expect(stdOf(values, "population")).toBeCloseTo(0.433013, 6);
});

test("of none, one and equals there is nothing to compare", () => {
  for (const values of [[], [3], [0.3, 0.1 + 0.2]]) {
    expect(isUniform(values)).toBe(true);
    expect(stdOf(values)).toBe(0);
  }
  expect(isUniform([0, 1e-6])).toBe(false);
  expect([isUniform([0, 1e-9]), isUniform([0, 1.001e-9])]).toEqual([true, false]);
  expect([meanOf([]), meanOf([1, 2])]).toEqual([0, 1.5]);
});

test("golden: whitening touches what the mask covers", () => {
  const values_B_T = [Float32Array.of(9, 1, 2), Float32Array.of(3, 9)];
  whitenMasked(values_B_T, [{ mask_T: Uint8Array.of(0, 1, 1) }, { mask_T: Uint8Array.of(1, 0) }]);
  expect(values_B_T.map((values_T) => [...values_T])).toEqual([near([9, -1, 0]), near([1, 9])]);
});

test("a large mean does not swallow a small deviation", () => {
  const values_B_T = [Float32Array.of(4096, 4097, 4098)];
  whitenMasked(values_B_T, [{ mask_T: Uint8Array.of(1, 1, 1) }]);
  expect([...values_B_T[0]]).toEqual(near([-1, 0, 1]));
});
