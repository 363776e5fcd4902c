import { expect, test } from "vitest";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { auditJudge } from "./judge/audit-judge.ts";
import { type JudgingPolicy, policyJudge } from "./policy-judge.ts";
import { fakeEpisode } from "./testing/fake-episode.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });

/** Says "yes" three times as often as "no" where it reads a word, else the other way round. */
function judging(word: string, contextLength = 4096): JudgingPolicy & { asked: { text: string; weights?: string }[] } {
  const asked: { text: string; weights?: string }[] = [];
  return {
    asked,
    renderer,
    engine: {
      info: { contextLength },
      async forward({ rows }, { weights } = {}) {
        return {
          logprobs_B_T: rows.map(({ tokens, mask }) => {
            const text = renderer.read(tokens.filter((_, t) => mask[t] === 0));
            const answer = renderer.read(tokens.filter((_, t) => mask[t] === 1));
            asked.push({ text, ...(weights === undefined ? {} : { weights }) });
            const isLikely = answer.startsWith("yes") === text.includes(word);
            const first = mask.indexOf(1);
            return Float32Array.from(tokens, (_, t) => (t === first ? Math.log(isLikely ? 0.75 : 0.25) : 0));
          }),
        };
      },
    },
  };
}

test("what an episode is worth is how much rather the policy says yes than no", async () => {
  const judge = judging("tea");
  const reward = policyJudge<string>(judge, { ask: ({ answer }) => `${answer}?`, weights: "judge" });
  const good = await reward(fakeEpisode("?", ["green tea"]));
  expect(good.total).toBeCloseTo(0.75, 5);
  expect(good.success).toBe(true);
  const bad = await reward(fakeEpisode("?", ["coffee"]));
  expect([bad.total, bad.success]).toEqual([expect.closeTo(0.25, 5), false]);
  expect(judge.asked.every(({ weights }) => weights === "judge")).toBe(true);
});

test("by default it reads the whole episode, fenced", async () => {
  const judge = judging("tea");
  await policyJudge(judge)(fakeEpisode("?", ["green tea"]));
  expect(judge.asked[0].text).toMatch(/BEGIN FINAL ANSWER \w+\ngreen tea\nEND FINAL ANSWER/);
});

test("it can be audited like any judge: agreement with labels", async () => {
  const reward = policyJudge<null>(judging("tea"), { ask: ({ answer }) => answer });
  const labelled = ["tea", "coffee", "iced tea", "milk"].map((answer) => ({
    episode: fakeEpisode(null, [answer]),
    isSolved: answer.includes("tea"),
  }));
  expect((await auditJudge(reward, labelled)).agreement).toBe(1);
});

test("an episode that does not fit, and answers that are none, are errors and no scores", async () => {
  await expect(policyJudge(judging("x", 16))(fakeEpisode("?", ["x".repeat(99)]))).rejects.toThrow(/judge-context/);
  expect(() => policyJudge(judging("x"), { answers: ["yes", "yes"] })).toThrow(/two different/);
  expect(() => policyJudge(judging("x"), { askk: () => "" } as never)).toThrow(/ask/);
});

test("what is no policy is refused at once", () => {
  expect(() => policyJudge(undefined as never)).toThrow(/^bad-option: got undefined as the judge/);
  expect(() => policyJudge({} as never)).toThrow(/^bad-option: got object as the judge/);
});
