import { expect, test } from "vitest";
import { type BuiltinReward, builtinRewards } from "./builtin-rewards.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const entries: [string, BuiltinReward][] = Object.entries(builtinRewards);

/** A task that has every field. */
const task = {
  answer: "4",
  numbers: [2, 2],
  target: 4,
  tests: [{ name: "four", expression: "four", expected: 4 }],
  calls: [{ name: "add", parameters: { a: 2 } }],
  files: { a: "x\n" },
  goldFiles: { a: "y\n" },
  box: [0, 0, 1, 1],
  action: "click",
};

test.each(entries)(
  "%s scores a task that has its fields, and names one that is missing",
  async (_, { fields, make }) => {
    const reward = make();
    expect((await reward(fakeEpisode(task, ["<think>a</think><answer>4</answer>"]))).total).toSatisfy(Number.isFinite);
    if (fields.length === 0) return;
    const scored = async () => reward(fakeEpisode({}, ["a"]));
    await expect(scored()).rejects.toMatchObject({ code: "bad-task" });
    await expect(scored()).rejects.toThrow(fields[0]);
  },
);

test("descriptions fit on a line", () => {
  for (const [, { description }] of entries) expect(description.length).toBeLessThan(80);
});

test("gold answers from a file may be one or several", async () => {
  const { total } = await builtinRewards["exact-match"].make()(fakeEpisode({ answer: ["five", "four"] }, ["Four."]));
  expect(total).toBe(1);
});
