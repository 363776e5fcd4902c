import { expect, test } from "vitest";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { toolRl } from "./tool-rl.ts";

const reference = { calls: [{ name: "get_weather", parameters: { city: "Paris", unit: "C" } }], responds: false };
const call = (parameters: object) =>
  `<think>a</think>\n<tool_call>\n${JSON.stringify({ name: "get_weather", parameters })}\n</tool_call>`;

test("the golden scores, in parts", async () => {
  const reward = toolRl(() => reference);
  expect(await reward(fakeEpisode({}, [call({ city: "Paris", unit: "C" })]))).toEqual({
    total: 4,
    parts: { format: 1, correctness: 3, length: 0 },
    success: true,
  });
  expect(await reward(fakeEpisode({}, [call({ city: "London", unit: "C" })]))).toMatchObject({
    total: 2.5,
    success: false,
  });
  expect(reward.range).toEqual([-3, 4]);
});

test("a schedule follows the step, and its range holds for all of training", async () => {
  let step = 0;
  const reward = toolRl(() => reference, { scale: "two-stage", step: () => step });
  const episode = fakeEpisode({}, [call({ city: "Paris", unit: "C" })]);
  expect((await reward(episode)).total).toBe(2);
  step = 30;
  expect((await reward(episode)).total).toBe(3.5);
  expect(reward.range).toEqual([-3, 3.5]);
  expect(toolRl(() => reference, { scale: "smooth" }).range).toEqual([-4, 4]);
});

test("the step is the one that training tells; outside of training the schedule is over", async () => {
  const reward = toolRl(() => reference, { scale: "two-stage" });
  const episode = fakeEpisode({}, [call({ city: "Paris", unit: "C" })]);
  const at = async (step: number) => (await reward({ ...episode, training: { step, progress: 0 } })).total;
  expect([await at(0), await at(29), await at(30)]).toEqual([2, 2, 3.5]);
  expect((await reward(episode)).total).toBe(3.5);
});

test("where only an answer is asked for, the format decides", async () => {
  const reward = toolRl(() => ({ calls: [], responds: true }));
  expect(await reward(fakeEpisode({}, ["<think>a</think>\n<response>b</response>"]))).toMatchObject({ success: true });
  expect(await reward(fakeEpisode({}, ["b"]))).toMatchObject({ total: 0, success: false });
});
