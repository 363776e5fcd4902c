import { z } from "zod";

/** JSON lacks some numbers: they travel as strings, and only in fields that hold numbers. */
export type JsonReal = number | "NaN" | "Infinity" | "-Infinity";

const strayNumbers = new Map<unknown, number>([
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
]);

/** Any number, those that JSON lacks included. */
export const Real = z.preprocess(
  (value) => strayNumbers.get(value) ?? value,
  z.custom<number>((value) => typeof value === "number", "a number"),
);

export function jsonReal(value: number): JsonReal {
  if (Number.isFinite(value)) return value;
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "Infinity" : "-Infinity";
}
