import { expect, test } from "vitest";
import { makeScore } from "../schema/score.ts";
import { ruleFirst } from "./rule-first.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("the judge is asked only where the rule does not decide", async () => {
  let asked = 0;
  const reward = ruleFirst(
    ({ answer }) => (answer === "" ? makeScore({ outcome: 0 }) : undefined),
    () => {
      asked++;
      return makeScore({ success: 1 });
    },
  );
  expect(await reward(fakeEpisode({}, [""]))).toEqual({ total: 0, parts: { outcome: 0 }, success: false });
  expect(asked).toBe(0);
  expect(await reward(fakeEpisode({}, ["words"]))).toMatchObject({ total: 1 });
  expect(asked).toBe(1);
});
