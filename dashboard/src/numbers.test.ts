import { describe, expect, test } from "vitest";
import { ago, count, percent, short, whole } from "./numbers.ts";

describe("short", () => {
  test.each([
    [undefined, "–"],
    [null, "NaN"],
    [Number.NaN, "NaN"],
    [Number.POSITIVE_INFINITY, "Infinity"],
    [0, "0"],
    [-0, "0"],
    [1, "1"],
    [0.5, "0.5"],
    [1 / 3, "0.333"],
    [-12.345, "-12.3"],
    [999.4, "999"],
    [999.9, "1000"],
    [1234.5, "1235"],
    [9999, "9999"],
    [12_345, "12.3k"],
    [999_999, "1M"],
    [1_234_567, "1.23M"],
    [1e9, "1G"],
    [-2.5e12, "-2.5T"],
    [1e15, "1000T"],
    [0.0005, "5.0e-4"],
    [1e-300, "1.0e-300"],
  ])("of %s is %s", (value, text) => expect(short(value)).toBe(text));

  test("never takes more than nine characters", () => {
    const values = Array.from({ length: 600 }, (_, i) => -1.23456 * 10 ** (i / 40 - 7));
    expect(values.map(short).filter((text) => text.length > 9)).toEqual([]);
  });
});

test("counts have separators and plurals", () => {
  expect([count(1, "turn"), count(0, "turn"), count(12_000, "token")]).toEqual(["1 turn", "0 turns", "12,000 tokens"]);
  expect(whole(1_234_567)).toBe("1,234,567");
});

test("percentages are whole, absent or not finite", () => {
  expect([percent(0.256), percent(undefined), percent(null)]).toEqual(["26%", "–", "NaN"]);
});

test.each([
  [400, "0 s ago"],
  [59_000, "59 s ago"],
  [3_599_000, "59 min ago"],
  [7_200_000, "2 h ago"],
  [200_000_000, "2 d ago"],
  // clocks of two machines differ
  [-5000, "0 s ago"],
])("%d ms is %s", (ms, text) => expect(ago(1_000_000, 1_000_000 + ms)).toBe(text));
