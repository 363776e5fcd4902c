import { expect, test } from "vitest";
import { nearest } from "./nearest.ts";

const names = ["search", "open_page", "calculator"];

test.each([
  ["serach", "search"],
  ["Search", "search"],
  ["openPage", "open_page"],
  ["open-page", "open_page"],
  ["calculater", "calculator"],
  ["fly", undefined],
  ["", undefined],
  ["...", undefined],
  ["x".repeat(10_000), undefined],
])("%j means %j", (said, meant) => expect(nearest(said, names)).toBe(meant));

test("nearest finds a typing mistake, and nothing for a word that is like none", () => {
  const known = ["train", "eval", "doctor"];
  expect(nearest("TRAIN", known)).toBe("train");
  expect(nearest("docter", known)).toBe("doctor");
  expect(nearest("x", known)).toBeUndefined();
  expect(nearest("sample", known)).toBeUndefined();
  expect(nearest("x", [])).toBeUndefined();
});
