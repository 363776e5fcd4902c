import { expect, test } from "vitest";
import { fakeEpisode } from "./testing/fake-episode.ts";
import { uiR1 } from "./ui-r1.ts";

test("type, point and format are parts; success does not need the format", async () => {
  const reward = uiR1(() => ({ action: "click", box: [0, 0, 10, 10] }));
  const scoreOf = async (text: string) => reward(fakeEpisode({}, [text]));
  expect(await scoreOf("<think>a</think><answer>[{'action': 'click', 'coordinate': [5, 5]}]</answer>")).toEqual({
    total: 3,
    parts: { type: 1, coordinate: 1, format: 1 },
    success: true,
  });
  expect(await scoreOf("<answer>[{'action': 'click', 'coordinate': [5, 5]}]</answer>")).toMatchObject({
    total: 2,
    success: true,
  });
  expect(await scoreOf("<think>a</think><answer>[{'action': 'click', 'coordinate': [50, 5]}]</answer>")).toMatchObject({
    total: 2,
    success: false,
  });
});
