import { expect, test } from "vitest";
import { readMoves, writeMoves } from "./moves.ts";

test.each([
  ["Up || Left", "tags", ["Up", "Left"], true],
  [" up||LEFT ||", "tags", ["Up", "Left"], true],
  ["Up || jump || Down", "tags", ["Up", "Down"], false],
  ["Up, Left", "tags", [], false],
  ["", "tags", [], false],
  [" || ", "tags", [], false],
  ["UL", "compact", ["Up", "Left"], true],
  [" u l\n", "compact", ["Up", "Left"], true],
  ["UxL", "compact", ["Up", "Left"], false],
  ["", "compact", [], false],
] as const)("%j in %s style is %j", (answer, style, moves, areAllMoves) => {
  expect(readMoves(answer, style, 5)).toEqual({ moves, areAllMoves });
});

test("what is beyond the limit is cut without a word, right or wrong", () => {
  expect(readMoves("UUUDD", "compact", 3)).toEqual({ moves: ["Up", "Up", "Up"], areAllMoves: true });
  expect(readMoves("Up || Up || fly", "tags", 2)).toEqual({ moves: ["Up", "Up"], areAllMoves: true });
});

test("what is written is read again", () => {
  for (const style of ["tags", "compact"] as const) {
    expect(readMoves(writeMoves(["Down", "Down", "Right"], style), style, 5).moves).toEqual(["Down", "Down", "Right"]);
  }
  expect(writeMoves(["Down", "Down", "Right"], "tags")).toBe("Down || Down || Right");
  expect(writeMoves(["Down", "Down", "Right"], "compact")).toBe("DDR");
});
