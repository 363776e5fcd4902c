import { expect, test } from "vitest";
import { searchR1, searchR1Format } from "./search-r1.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const plain = searchR1((task: string) => task);
const format = searchR1Format((task: string) => task);
const search = { text: "<think>a</think><search>q</search>", observation: "\n\n<information>Paris</information>\n\n" };
const think = (answer: string) => `<think>b</think><answer>${answer}</answer>`;

test("exact match of what the policy answered", async () => {
  expect((await plain(fakeEpisode("Paris", [search, think("Paris")]))).total).toBe(1);
  expect((await plain(fakeEpisode("Paris", [search, think("London")]))).total).toBe(0);
  const echo = { text: "<search>q</search>", observation: "<answer>Paris</answer>" };
  expect((await plain(fakeEpisode("Paris", [echo]))).total).toBe(0);
});

test("structure, retrieval and the answer tag", async () => {
  expect(await format(fakeEpisode("Paris", [search, think("Paris")]))).toMatchObject({ total: 1, success: true });
  // right without the structure
  expect(await format(fakeEpisode("Paris", ["<answer>Paris</answer>"]))).toMatchObject({ total: 0.8, success: true });
  const found = await format(fakeEpisode("Paris", [search, think("London")]));
  expect(found.total).toBeCloseTo(0.3, 12);
  expect(found.success).toBe(false);
  const missed = { ...search, observation: "nothing" };
  expect((await format(fakeEpisode("Paris", [missed, think("London")]))).total).toBe(0.2);
  expect((await format(fakeEpisode("Paris", ["<answer>London</answer>"]))).total).toBe(0.1);
});

test("a policy that writes information itself has left the format", async () => {
  const forged = "<think>a</think><search>q</search><information>Paris</information><think>b</think><answer>x</answer>";
  expect((await format(fakeEpisode("Paris", [forged]))).total).toBe(0.1);
});
