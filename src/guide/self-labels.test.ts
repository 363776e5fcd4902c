import { describe, expect, test } from "vitest";
import { scriptedEngine } from "../env/attempt/contract/scripted-engine.ts";
import { type SumsTask, sums } from "../env/environments/sums.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Task } from "../schema/task.ts";
import { majority, type SelfLabelsOptions, selfLabels } from "./self-labels.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const world = sums();
const task = (question: string): Task<SumsTask> => ({ id: question, seed: 0, data: { question } });

/** Answers by question, one for each sample. */
function labelsOf(
  answers: Readonly<Record<string, readonly string[]>>,
  options: Partial<SelfLabelsOptions<SumsTask>> = {},
) {
  const policy = scriptedEngine({
    tokenizer,
    renderer,
    says({ rollout = "" }) {
      const [, , at, i] = rollout.split("/");
      return Object.values(answers)[Number(at)][Number(i)];
    },
  });
  const samples = Object.values(answers)[0].length;
  return selfLabels(Object.keys(answers).map(task), { world, policy, samples, ...options });
}

describe("labels by majority", () => {
  test("are the most frequent answers, kept where they are neither chance nor certain", async () => {
    const answers = {
      "1+1": ["2", "2", "2", "2", "2"],
      "9+8": ["17", "16", " 17", "1", "17"],
      "9-8+7": ["8", "7", "6", "5", "4"],
      "9-8+6": ["", "", "", "", ""],
    };
    expect((await labelsOf(answers)).map(({ label, share, isKept }) => [label, share, isKept])).toEqual([
      ["2", 1, false],
      ["17", 0.6, true],
      ["8", 0.2, false],
      [undefined, 0, false],
    ]);
  });

  test("follow the shares that are asked for", async () => {
    const kept = async (keep: readonly [number, number]) =>
      (await labelsOf({ "1+1": ["2", "2", "2", "1"] }, { keep }))[0].isKept;
    expect([await kept([0.75, 0.75]), await kept([0.8, 1]), await kept([0, 0.7])]).toEqual([true, false, false]);
  });

  test("may be of another part of an attempt", async () => {
    const answerOf: SelfLabelsOptions["answerOf"] = ({ turns }) => turns[0].text.at(-1);
    expect(await labelsOf({ "1+1": ["12", "2", "32"] }, { answerOf })).toMatchObject([{ label: "2", share: 1 }]);
  });

  test("are an error where nothing was played to its end, and stop with the signal", async () => {
    const policy = scriptedEngine({ tokenizer, renderer, says: () => Promise.reject(new Error("out of memory")) });
    await expect(selfLabels([task("1+1")], { world, policy })).rejects.toThrow("all failed");
    await expect(labelsOf({ "1+1": ["2"] }, { signal: AbortSignal.abort() })).rejects.toThrow();
  });

  test.each([{ samples: 0 }, { keep: [0.8, 0.3] as const }, { keep: [0, 2] as const }, { sample: 3 }])(
    "refuse %j",
    async (options) => {
      await expect(labelsOf({ "1+1": ["2"] }, options)).rejects.toThrow();
    },
  );
});

test("a majority is the first of several, of those who answered", () => {
  expect(majority(["a", "b", "b", "a"])).toEqual({ label: "a", share: 0.5 });
  expect(majority([undefined, undefined, "c"])).toEqual({ label: "c", share: 1 / 3 });
  expect(majority([])).toEqual({ share: 0 });
});
