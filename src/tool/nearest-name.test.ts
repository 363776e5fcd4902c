import { expect, test } from "vitest";
import { nearestName } from "./nearest-name.ts";

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
])("%j means %j", (said, meant) => expect(nearestName(said, names)).toBe(meant));
