import { expect, test } from "vitest";
import { fakeCall, fakeEpisode } from "./testing/fake-episode.ts";
import { toolShaping } from "./tool-shaping.ts";

test("calls of all turns, in order", async () => {
  const reward = toolShaping({ relevant: (task: { tool: string }) => [task.tool] });
  const task = { tool: "search" };
  const totalOf = async (...calls: ReturnType<typeof fakeCall>[]) =>
    (
      await reward(
        fakeEpisode(
          task,
          calls.map((call) => ({ text: "", calls: [call] })),
        ),
      )
    ).total;
  expect(await totalOf(fakeCall("search", { q: 1 }), fakeCall("search", { q: 2 }))).toBe(0.1);
  expect(await totalOf(fakeCall("search", { q: 1 }), fakeCall("search", { q: 1 }))).toBeCloseTo(0.05, 12);
  expect(await totalOf(fakeCall("fly", {}, "unknown-tool"))).toBe(-0.3);
  expect(await totalOf(fakeCall("search", {}, "bad-arguments"))).toBe(0.1);
  expect(await totalOf(fakeCall("other", {}))).toBe(0);
});

test("the cap is the range", async () => {
  const reward = toolShaping({ cap: 0.5 });
  const calls = Array.from({ length: 9 }, () => fakeCall("fly", {}, "unknown-tool"));
  expect((await reward(fakeEpisode({}, [{ text: "", calls }]))).total).toBe(-0.5);
  expect(reward.range).toEqual([-0.5, 0.5]);
});
