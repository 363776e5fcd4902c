import { expect, test } from "vitest";
import { makeScore } from "../schema/score.ts";
import { type EnsembleOptions, ensemble } from "./ensemble.ts";
import type { Reward } from "./reward.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const members = [1, 1, 0.4].map(
  (total): Reward =>
    () =>
      makeScore({ outcome: total }),
);
const scoreWith = (options: Partial<EnsembleOptions>) => ensemble(members, options)(fakeEpisode({}, []));

test("mean, worst case, and mean less variance", async () => {
  expect((await scoreWith({})).total).toBeCloseTo(0.8, 12);
  expect((await scoreWith({ aggregate: "min" })).total).toBe(0.4);
  // deviations 0.2, 0.2, -0.4: variance 0.08
  expect((await scoreWith({ aggregate: "mean-variance", lambda: 0.5 })).total).toBeCloseTo(0.76, 12);
});

test("what disagreement costs is a part; success is a majority's", async () => {
  const { parts, success } = await scoreWith({ aggregate: "min" });
  expect(parts.mean).toBeCloseTo(0.8, 12);
  expect(parts.disagreement).toBeCloseTo(-0.4, 12);
  expect(success).toBe(true);
  const tie = await ensemble(members.slice(1))(fakeEpisode({}, []));
  expect(tie.success).toBe(false);
});

test("members there must be", () => {
  expect(() => ensemble([])).toThrow("ensemble-empty");
});
