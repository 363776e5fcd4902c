import { expect, test } from "vitest";
import { fence } from "./fence.ts";

test("the same texts have the same mark, others another", () => {
  const of = (text: string) => fence([{ label: "A", text }]).mark;
  expect(of("one")).toBe(of("one"));
  expect(of("one")).not.toBe(of("two"));
  expect(of("one")).toMatch(/^[0-9a-f]{16}$/);
});

test("each text stands between its own lines", () => {
  const { mark, text } = fence([
    { label: "A", text: "one" },
    { label: "B", text: "two\nlines" },
  ]);
  expect(text).toBe(`BEGIN A ${mark}\none\nEND A ${mark}\nBEGIN B ${mark}\ntwo\nlines\nEND B ${mark}`);
});
