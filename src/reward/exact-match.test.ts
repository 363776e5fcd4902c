import { expect, test } from "vitest";
import { lastText } from "./episode-text.ts";
import { exactMatch } from "./exact-match.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const reward = exactMatch((task: { answer: string | readonly string[] }) => task.answer);
const totalOf = async (gold: string | string[], answer: string) =>
  (await reward(fakeEpisode({ answer: gold }, ["words"], { answer }))).total;

test("any of the gold answers, in normal form", async () => {
  expect(await totalOf("Eiffel Tower", "the eiffel tower.")).toBe(1);
  expect(await totalOf(["Paris", "Lutetia"], "lutetia")).toBe(1);
  expect(await totalOf("Paris", "London")).toBe(0);
  expect(await totalOf([], "London")).toBe(0);
});

test("a gold answer that has no normal form is not met by silence", async () => {
  expect(await totalOf("A", "a")).toBe(1);
  expect(await totalOf("A", "")).toBe(0);
  expect(await totalOf("A", "the")).toBe(0);
  expect(await totalOf("+", "-")).toBe(0);
});

test("the outcome is a part, and success; the text may be another", async () => {
  const episode = fakeEpisode({ answer: "4" }, ["4"], { answer: "" });
  expect(await reward(episode)).toEqual({ total: 0, parts: { outcome: 0 }, success: false });
  const last = exactMatch((task: { answer: string }) => task.answer, { text: lastText });
  expect(await last(episode)).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
});
