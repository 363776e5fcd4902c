import { expect, test } from "vitest";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "./known-options.ts";

interface Options {
  groupSize: number;
  clip?: number;
}

const known: KnownOptions<Options> = { groupSize: true, clip: true };

test("a misspelt option is refused with the nearest known one", () => {
  const given = { groupsize: 4 } as unknown as Options;
  expect(() => refuseUnknownOptions("grpo", given, known)).toThrow(
    'grpo: unknown option "groupsize"; did you mean "groupSize"?',
  );
});

test("an option far from all known ones is refused with the list", () => {
  const given = { groupSize: 4, banana: 1 } as Options;
  expect(() => refuseUnknownOptions("grpo", given, known)).toThrow(
    'grpo: unknown option "banana"; known options: groupSize, clip',
  );
});

test("known options and no options pass", () => {
  expect(() => refuseUnknownOptions("grpo", { groupSize: 4 }, known)).not.toThrow();
  expect(() => refuseUnknownOptions("grpo", undefined, known)).not.toThrow();
});

test("names that every object inherits are not known options", () => {
  const given = { constructor: 1 } as unknown as Options;
  expect(() => refuseUnknownOptions("grpo", given, known)).toThrow('unknown option "constructor"');
});

test("a value that is no choice is refused with the nearest one", () => {
  expect(() => refuseOtherValue("size of fromScratch", "smal", ["tiny", "small"])).toThrow(
    'bad-option: got size of fromScratch: "smal", expected "tiny" or "small". Did you mean "small"?',
  );
  expect(() => refuseOtherValue("size of fromScratch", 3, ["tiny"])).toThrow('expected "tiny"');
  expect(() => refuseOtherValue("size of fromScratch", "tiny", ["tiny"])).not.toThrow();
});
