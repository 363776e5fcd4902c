import { expect, test } from "vitest";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { thoughtState } from "./thought-state.ts";

const turn = (thought: string, stateKey?: string) => ({
  text: `<think>${thought}</think><answer>Up</answer>`,
  ...(stateKey === undefined ? {} : { stateKey }),
});
const total = async (...turns: ReturnType<typeof turn>[]) =>
  (await thoughtState({ weight: 0.2 })(fakeEpisode(null, turns))).total;

test("an episode gets the share of its thoughts that describe the state as it was", async () => {
  expect(await total(turn("I am at 3 4, so up", "3 4"), turn("now 3 5", "3 6"))).toBeCloseTo(0.1);
  expect(await total(turn("3  4", "3 4"))).toBeCloseTo(0.2);
  expect(await total(turn("who knows", "3 4"))).toBe(0);
});

test("turns whose state has no name do not count, and a turn without a thought agrees with nothing", async () => {
  expect(await total(turn("3 4", "3 4"), turn("anything"))).toBeCloseTo(0.2);
  expect(await total(turn("anything"))).toBe(0);
  const silent = { text: "Up", stateKey: "3 4" };
  expect((await thoughtState()(fakeEpisode(null, [silent]))).total).toBe(0);
});

test("a reader of one's own may say what was meant", async () => {
  const reward = thoughtState({ stated: ({ text }) => text, agree: (stated, actual) => stated === actual, weight: 1 });
  expect((await reward(fakeEpisode(null, [{ text: "a", stateKey: "a" }]))).total).toBe(1);
  expect(() => thoughtState({ weight: -1 })).toThrow(/weight/);
  expect(() => thoughtState({ wieght: 1 } as never)).toThrow(/weight/);
});
