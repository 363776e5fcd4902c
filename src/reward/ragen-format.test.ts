import { expect, test } from "vitest";
import { ragenFormat } from "./ragen-format.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const turn = (answer: string) => `<think>a</think><answer>${answer}</answer>`;

test("-0.1 for each turn that is broken or has an invalid action", async () => {
  const reward = ragenFormat<{ known: string[] }>({ isValid: (action, { known }) => known.includes(action) });
  const task = { known: ["Up", "Down"] };
  const totalOf = async (...turns: string[]) => (await reward(fakeEpisode(task, turns))).total;
  expect(await totalOf(turn("Up || Down"), turn("Up"))).toBe(0);
  expect(await totalOf(turn("Up || Fly"), turn("Up"), "Up")).toBeCloseTo(-0.2, 12);
  expect(await totalOf(turn(""))).toBe(-0.1);
});

test("the sum has a floor", async () => {
  const broken = Array.from({ length: 30 }, () => "Up");
  expect((await ragenFormat()(fakeEpisode({}, broken))).total).toBe(-1);
  expect((await ragenFormat({ floor: -5 })(fakeEpisode({}, broken))).total).toBeCloseTo(-3, 12);
});
