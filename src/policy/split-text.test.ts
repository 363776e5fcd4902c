import { expect, test } from "vitest";
import { compilePattern, splitText } from "./split-text.ts";

const digit = compilePattern({ Regex: "\\d" });

test("what becomes of a match", () => {
  expect(splitText("a1b", digit, "Isolated")).toEqual(["a", "1", "b"]);
  expect(splitText("a1b", digit, "Removed")).toEqual(["a", "b"]);
  expect(splitText("a1b", digit, "Removed", true)).toEqual(["1"]);
  expect(splitText("a12b", digit, "MergedWithPrevious")).toEqual(["a1", "2", "b"]);
  expect(splitText("a12b", digit, "MergedWithNext")).toEqual(["a", "1", "2b"]);
  expect(splitText("a12b", digit, "Contiguous")).toEqual(["a", "12", "b"]);
  expect(splitText("", digit, "Isolated")).toEqual([]);
});

test("case is folded as Oniguruma folds it: ſ is an s, the Kelvin sign a k", () => {
  const words = (text: string) => splitText(text, compilePattern({ Regex: "(?i:'s)| ?\\p{L}+" }), "Isolated");
  expect(words("a'ſb it'S")).toEqual(["a", "'ſ", "b", " it", "'S"]);
  expect(splitText("x\u212ay", compilePattern({ Regex: "(?i:k)" }), "Isolated")).toEqual(["x", "\u212a", "y"]);
});

test("white space is Unicode's: U+FEFF is none, U+0085 is", () => {
  const space = compilePattern({ Regex: "\\s" });
  expect(splitText("a\ufeffb\u0085c", space, "Removed")).toEqual(["a\ufeffb", "c"]);
});

test("a string is matched as it is", () => {
  expect(splitText("a.b(c", compilePattern({ String: "." }), "Removed")).toEqual(["a", "b(c"]);
  expect(splitText("a.b(c", compilePattern({ String: "(" }), "Isolated")).toEqual(["a.b", "(", "c"]);
});
