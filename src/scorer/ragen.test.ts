import { expect, test } from "vitest";
import { parseRagenActions, ragenPenalties } from "./ragen.ts";
import { randomTagTexts } from "./testing/random-tag-texts.ts";

test("a turn with nothing valid, or with something dropped, is penalised", () => {
  const turns = [
    { proposed: ["Up", "Down"], valid: 2 },
    { proposed: ["Up", "Fly"], valid: 1 },
    { proposed: [], valid: 0 },
  ];
  expect(ragenPenalties(turns)).toEqual([0, -0.1, -0.1]);
  expect(ragenPenalties(turns, { penalty: -1 })).toEqual([0, -1, -1]);
});

test("actions", () => {
  expect(parseRagenActions("<think>x</think> <answer>Up || Down ||</answer>\n")).toEqual(["Up", "Down"]);
  expect(parseRagenActions("<think>x</think><answer>1||2||3||4||5||6</answer>")).toHaveLength(5);
  expect(parseRagenActions("<answer>Up</answer>")).toEqual([]);
  expect(parseRagenActions("<think>x</think><think>y</think><answer>Up</answer>")).toEqual([]);
});

test("nothing throws", () => {
  for (const text of randomTagTexts(12, 2000, ["think", "answer"], ["||"])) {
    expect(Array.isArray(parseRagenActions(text))).toBe(true);
  }
});
