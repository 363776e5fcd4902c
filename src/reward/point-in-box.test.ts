import { expect, test } from "vitest";
import { pointInBox } from "./point-in-box.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("a click in the box, edges included", async () => {
  const reward = pointInBox({ box: () => [10, 10, 20, 20] });
  const totalOf = async (text: string) => (await reward(fakeEpisode({}, [text]))).total;
  expect(await totalOf("<answer>[{'action': 'click', 'coordinate': [20, 10]}]</answer>")).toBe(1);
  expect(await totalOf("<answer>[{'action': 'click', 'coordinate': [21, 10]}]</answer>")).toBe(0);
  expect(await totalOf("click there")).toBe(0);
});
