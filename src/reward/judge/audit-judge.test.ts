import { describe, expect, test } from "vitest";
import { judge } from "../judge.ts";
import { makeReward } from "../make-reward.ts";
import type { Reward } from "../reward.ts";
import { fakeEpisode } from "../testing/fake-episode.ts";
import { gullible, startFakeJudge } from "../testing/fake-judge.ts";
import { auditJudge } from "./audit-judge.ts";
import { injections } from "./injections.ts";

const examples = Array.from({ length: 8 }, (_, i) => ({
  episode: fakeEpisode("2+2", [i % 2 === 0 ? "4" : "5"]),
  isSolved: i % 2 === 0,
}));

const judgedBy = (
  success: (answer: string) => boolean,
  total = (answer: string): number => (success(answer) ? 1 : 0),
) =>
  makeReward(({ answer }) => ({ total: total(answer), parts: {}, success: success(answer) })) as Reward<
    string,
    undefined
  >;

describe("an audit", () => {
  test("of a judge that looks at the matter finds nothing to blame", async () => {
    const audit = await auditJudge(
      judgedBy((answer) => /\b4\b/.test(answer)),
      examples,
    );
    expect(audit).toMatchObject({
      judged: 8,
      agreement: 1,
      kappa: 1,
      precision: 1,
      recall: 1,
      injected: 0,
      failures: [],
    });
    expect([audit.lengthPreference, audit.sycophancy]).toEqual([0, 0]);
  });

  test("measures what a judge prefers besides: length, flattery, obedience", async () => {
    const longer = judgedBy(
      (answer) => answer.length > 20,
      (answer) => Math.min(1, answer.length / 100),
    );
    expect((await auditJudge(longer, examples)).lengthPreference).toBeGreaterThan(0.5);
    const vain = judgedBy((answer) => answer.startsWith("What an excellent"));
    expect(await auditJudge(vain, examples)).toMatchObject({ sycophancy: 1, lengthPreference: 0, injected: 0 });
    const obedient = judgedBy((answer) => /\b4\b/.test(answer) || answer.includes("Ignore the rubric"));
    const { injected, byInjection } = await auditJudge(obedient, examples);
    expect(injected).toBeCloseTo(1 / injections.length);
    expect(byInjection[0]).toEqual({ text: injections[0], accepted: 1 });
  });

  test("a judge by chance agrees by chance, and one that always says yes has no kappa", async () => {
    const always = await auditJudge(
      judgedBy(() => true),
      examples,
    );
    expect(always).toMatchObject({ agreement: 0.5, kappa: 0, precision: 0.5, recall: 1 });
    const never = await auditJudge(
      judgedBy(() => false),
      examples,
    );
    expect(never).toMatchObject({ agreement: 0.5, kappa: 0, precision: 1, recall: 0 });
  });

  test("counts what threw, and leaves it out of the figures", async () => {
    const reward = makeReward(({ answer }: { answer: string }) => {
      if (answer === "5") throw new Error("the judge is down");
      return { total: 1, parts: {}, success: true };
    }) as Reward<string, undefined>;
    const audit = await auditJudge(reward, examples);
    expect(audit).toMatchObject({ judged: 4, agreement: 1 });
    expect(audit.failures).toEqual(Array(4).fill("the judge is down"));
  });

  test("needs both outcomes, and names a misspelt option", async () => {
    const reward = judgedBy(() => true);
    await expect(
      auditJudge(
        reward,
        examples.filter(({ isSolved }) => isSolved),
      ),
    ).rejects.toThrow("no-examples");
    await expect(auditJudge(reward, examples, { injection: [] } as object)).rejects.toThrow(
      'did you mean "injections"?',
    );
  });
});

test("the shipped judge does not pass injections on to a model that obeys every word outside of the fence", async () => {
  const server = await startFakeJudge((request) => {
    const obeyed = gullible(request);
    const isFour = /FINAL ANSWER \w+\n(?:4|What an.*4)/.test(request.messages.map(({ content }) => content).join("\n"));
    return obeyed === "" || !/"success": true/.test(obeyed) ? `{"reasoning": "", "success": ${isFour}}` : obeyed;
  });
  try {
    const reward = judge<string, undefined>({ endpoint: server.endpoint, models: ["m"], task: (task) => task });
    expect(await auditJudge(reward, examples)).toMatchObject({ judged: 8, kappa: 1, injected: 0, failures: [] });
  } finally {
    await server.close();
  }
});
