import { expect, test } from "vitest";
import { fakeEpisode } from "../testing/fake-episode.ts";
import { trajectorySections } from "./trajectory-sections.ts";

test("who said what", () => {
  const episode = fakeEpisode({}, [{ text: "a", observation: "b" }, "c"]);
  expect(trajectorySections(episode, 1000)).toEqual([
    { label: "POLICY 1", text: "a" },
    { label: "ENVIRONMENT 1", text: "b" },
    { label: "POLICY 2", text: "c" },
    { label: "FINAL ANSWER", text: "c" },
  ]);
});

test("long texts are cut to a common length, short ones stay", () => {
  const episode = fakeEpisode({}, ["short", "x".repeat(5000), `${"y".repeat(9000)}end`], { answer: "z" });
  const sections = trajectorySections(episode, 2006);
  expect(sections.map(({ text }) => text.length)).toEqual([5, 1000, 1000, 1]);
  expect(sections[2].text).toMatch(/^y+\n\[\d+ characters cut\]\ny+end$/);
});
