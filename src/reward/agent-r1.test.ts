import { expect, test } from "vitest";
import { agentR1 } from "./agent-r1.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("format from -1 up, and the answer where format is at least half", async () => {
  const reward = agentR1((task: string) => task);
  const call = "<think>a</think><tool_call>b</tool_call>";
  const answer = "<think>a</think><answer>Paris</answer>";
  expect(await reward(fakeEpisode("Paris", [call, answer]))).toEqual({
    total: 1,
    parts: { format: 0, outcome: 1 },
    success: true,
  });
  expect(await reward(fakeEpisode("Paris", [answer]))).toMatchObject({ total: 0.5, success: true });
  expect(await reward(fakeEpisode("Paris", ["Paris"]))).toEqual({
    total: -1,
    parts: { format: -1, outcome: 0 },
    success: false,
  });
  expect((await reward(fakeEpisode("Paris", [call, "Paris"]))).total).toBeCloseTo(-0.3, 12);
});
