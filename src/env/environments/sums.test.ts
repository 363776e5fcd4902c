import { expect, test } from "vitest";
import { checkEnv } from "../check-env.ts";
import { readQuestion, sumQuestions, sums } from "./sums.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = <Data>(data: Data) => ({ id: "t", seed: 0, data });

test("the value is the answer, or the label that a task carries", async () => {
  const total = async (data: { question: string; label?: string }, says: string) =>
    (await playEpisode(sums(), task(data), [says])).scores.agent.total;
  expect(await total({ question: "3+8-2" }, " 9 ")).toBe(1);
  expect(await total({ question: "3-8" }, "-5")).toBe(1);
  expect(await total({ question: "3-8" }, "5")).toBe(0);
  expect(await total({ question: "3-8", label: "5" }, "5")).toBe(1);
  expect(await total({ question: "3-8", label: "5" }, "-5")).toBe(0);
});

test("a question is paid what it is worth, and what cannot be asked loses 1", async () => {
  const env = sumQuestions({ worth: (question) => question.length / 10 });
  const total = async (says: string) => (await playEpisode(env, task(null), [says])).scores.agent.total;
  expect(await total("3+8-2")).toBe(0.5);
  for (const says of ["", "38", "3+", "3*4", "1+2+3+4", "3 + 4", "(3+4)", "3+44"]) expect(await total(says)).toBe(-1);
});

test("a question that nobody can value ends its attempt, not the run", async () => {
  const env = sumQuestions({ worth: () => Promise.reject(new Error("no solver")) });
  expect((await playEpisode(env, task(null), ["3+4"])).stop).toBe("env-crash");
});

test("questions have as many terms as they may", () => {
  expect([readQuestion("1+2", 2), readQuestion("1+2+3", 2), readQuestion("1+2+3", 3)]).toEqual([
    "1+2",
    undefined,
    "1+2+3",
  ]);
});

// two warnings are meant: there are too few questions to hold some out, and any question may be asked
test("both keep the promises of environments", async () => {
  for (const env of [sums(), sumQuestions({ worth: () => 1 })]) {
    const { findings } = await checkEnv(env as never, { tasks: 2, timeoutMs: 10_000 });
    expect(findings.filter(({ isWarning }) => !isWarning)).toEqual([]);
  }
  expect(() => sums({ terms: 1 })).toThrow();
  expect(() => sumQuestions({ worht: 1 } as never)).toThrow(/worth/);
});
