import { expect, test } from "vitest";
import { math } from "./math.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("the last box of the last turn", async () => {
  const reward = math((task: string) => task);
  const totalOf = async (...turns: string[]) => (await reward(fakeEpisode("\\frac{1}{2}", turns))).total;
  expect(await totalOf("so \\boxed{3}, no, \\boxed{0.5}")).toBe(1);
  expect(await totalOf("\\boxed{0.5}", "I give up")).toBe(0);
  expect(await totalOf("0.5")).toBe(0);
});
