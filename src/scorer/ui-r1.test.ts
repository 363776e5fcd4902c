import { expect, test } from "vitest";
import { randomTagTexts } from "./testing/random-tag-texts.ts";
import { parseUiAction, uiR1ActionScore, uiR1Score } from "./ui-r1.ts";

const click = (x: number, y: number) =>
  `<think>there</think> <answer>[{'action': 'click', 'coordinate': [${x}, ${y}]}]</answer>`;
const gold = { action: "click", box: [10, 10, 20, 20] as const };

test("the three parts", () => {
  expect(uiR1Score(click(15, 15), gold)).toEqual({ total: 3, type: 1, coordinate: 1, format: 1 });
  expect(uiR1Score(click(25, 15), gold)).toEqual({ total: 2, type: 1, coordinate: 0, format: 1 });
  expect(uiR1Score(click(15, 15), { action: "scroll" })).toEqual({ total: 1, type: 0, coordinate: 0, format: 1 });
  expect(uiR1Score(`${click(15, 15)} done`, gold).total).toBe(2);
  const scroll = '<think></think><answer>[{"action": "scroll", "coordinate": [0, 0]}]</answer>';
  expect(uiR1Score(scroll, { action: "scroll" }).total).toBe(3);
});

test("the point is rescaled and cut to whole pixels", () => {
  expect(uiR1Score(click(7, 7), gold, { scale: [2, 2] }).coordinate).toBe(1);
  expect(uiR1Score(click(9, 9), gold, { scale: [1.1, 2] }).coordinate).toBe(0);
});

test("a click without a point gets no coordinate reward, even where the box holds the origin", () => {
  const text = "<think></think><answer>[{'action': click}]</answer>";
  expect(parseUiAction(text)).toEqual({ action: "click", point: null });
  expect(uiR1Score(text, { action: "click", box: [0, 0, 5, 5] })).toEqual({
    total: 2,
    type: 1,
    coordinate: 0,
    format: 1,
  });
});

test("an action that was read already, in a vocabulary with other clicks", () => {
  const double = { action: "double_click", point: [15, 15] as const, isWellFormed: true };
  const wanted = { ...gold, action: "double_click" };
  expect(uiR1ActionScore(double, wanted, ["double_click"]).total).toBe(3);
  expect(uiR1ActionScore({ ...double, point: [9, 15] }, wanted, ["double_click"]).coordinate).toBe(0);
  expect(uiR1ActionScore({ ...double, point: null }, wanted, ["double_click"]).coordinate).toBe(0);
  expect(uiR1ActionScore({ ...double, point: null }, wanted).coordinate).toBe(1);
  expect(uiR1ActionScore({ action: null, point: null, isWellFormed: false }, wanted).total).toBe(0);
});

test("the published expression lets doubled tags pass, the strict rule does not", () => {
  const doubled = `<think>a</think>${click(15, 15)}`;
  expect(uiR1Score(doubled, gold).format).toBe(0);
  expect(uiR1Score(doubled, gold, { tags: "published" }).format).toBe(1);
});

test("nothing throws", () => {
  const extra = ["'action': 'click'", "'action':", "[1, 2]"];
  for (const text of randomTagTexts(2, 2000, ["think", "answer"], extra)) {
    expect([0, 1, 2, 3]).toContain(uiR1Score(text, gold).total);
  }
});
