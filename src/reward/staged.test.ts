import { expect, test } from "vitest";
import { f1 } from "./f1.ts";
import { staged } from "./staged.ts";
import { fakeCall, fakeEpisode } from "./testing/fake-episode.ts";

const reward = staged({ answer: f1((task: string) => task) });

test("stages add up, in parts", async () => {
  expect(await reward(fakeEpisode("Paris", ["Paris"]))).toEqual({
    total: 1.5,
    parts: { parsed: 0.1, fits: 0.2, answered: 0.2, outcome: 1 },
    success: true,
  });
  const silent = await reward(fakeEpisode("Paris", ["thinking"], { answer: " " }));
  expect(silent.parts).toEqual({ parsed: 0.1, fits: 0.2, answered: 0, outcome: 0 });
});

test("a later stage counts only where the earlier ones hold", async () => {
  const withCall = (outcome: "malformed" | "unknown-tool" | "bad-arguments" | "error") =>
    reward(fakeEpisode("Paris", [{ text: "", calls: [fakeCall("x", {}, outcome)] }, "Paris"]));
  expect(await withCall("malformed")).toMatchObject({ total: 0, success: false });
  expect(await withCall("unknown-tool")).toMatchObject({ total: 0.1, success: false });
  expect(await withCall("bad-arguments")).toMatchObject({ total: 0.1 });
  expect(await withCall("error")).toMatchObject({ total: 1.5, success: true });
  expect(await reward(fakeEpisode("Paris", ["Paris"], { stop: "parse-error" }))).toMatchObject({ total: 0 });
});

test("the answer is not scored before its stage", async () => {
  const never = staged({
    answer: () => {
      throw new Error("asked");
    },
  });
  expect((await never(fakeEpisode({}, [""]))).total).toBeCloseTo(0.3, 12);
  await expect(never(fakeEpisode({}, ["a"]))).rejects.toThrow("asked");
});
