import { expect, test } from "vitest";
import { substringMatch } from "./substring-match.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

test("the answer holds a gold one", async () => {
  const reward = substringMatch((task: string) => task);
  expect((await reward(fakeEpisode("Paris", ["It is Paris."]))).total).toBe(1);
  expect((await reward(fakeEpisode("Paris", ["It is London."]))).total).toBe(0);
});
