import { describe, expect, test } from "vitest";
import { readArithmetic } from "../../scorer/arithmetic.ts";
import { type CountdownOptions, countdown } from "./countdown.ts";
import { joinTerms, numberTerm, solveCountdown, workOut } from "./countdown-solver.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = { id: "sum", seed: 0, data: { numbers: [3, 5, 2], target: 16 } };
const scoreOf = async (answer: string, options: Partial<CountdownOptions>) =>
  (await playEpisode(countdown(options), task, [answer])).scores.agent;

describe.each([
  ["tiny-zero", { right: 1, wrong: 0.1, otherNumbers: 0.1, unreadable: 0.1, nothing: 0 }],
  ["ragen", { right: 1, wrong: 0.1, otherNumbers: 0, unreadable: 0, nothing: 0 }],
] as const)("scoring of %s", (scoring, expected) => {
  test.each([
    ["(3+5)*2", "right"],
    ["2 * (5 + 3)", "right"],
    ["3+5+2", "wrong"],
    ["3*5+2", "wrong"],
    ["16", "otherNumbers"],
    ["8*2", "otherNumbers"],
    ["(3+5)*2*2/2", "otherNumbers"],
    ["(3+5)*2=16", "unreadable"],
    ["3 5 2", "wrong"],
    ["3.5*2", "otherNumbers"],
    ["(3+5)*", "unreadable"],
    ["3/(5-5)*2", "unreadable"],
    ["", "nothing"],
    [" \n ", "nothing"],
  ] as const)("%j is %s", async (answer, kind) => {
    const { total, success } = await scoreOf(answer, { scoring });
    expect(total).toBe(expected[kind]);
    expect(success).toBe(kind === "right");
  });
});

test("tags: only what stands in answer tags is an answer", async () => {
  expect((await scoreOf("(3+5)*2", { style: "tags" })).total).toBe(0);
  expect((await scoreOf("<think>8*2</think><answer>(3 + 5) * 2</answer>", { style: "tags" })).total).toBe(1);
});

test("what is told", async () => {
  expect((await playEpisode(countdown(), task, [])).heard).toEqual(["3 5 2=16"]);
  expect((await playEpisode(countdown({ style: "tags" }), task, [])).heard[0]).toContain("Target: 16, nums: [3, 5, 2]");
});

test("expressions have the parentheses they need, and no others", () => {
  const [a, b, c] = [numberTerm(7), numberTerm(3), numberTerm(2)];
  const written = [
    joinTerms(a, "-", joinTerms(b, "-", c)),
    joinTerms(joinTerms(a, "-", b), "-", c),
    joinTerms(a, "+", joinTerms(b, "-", c)),
    joinTerms(a, "*", joinTerms(b, "+", c)),
    joinTerms(a, "/", joinTerms(b, "*", c)),
    joinTerms(joinTerms(a, "/", b), "*", c),
  ];
  expect(written.map(({ text }) => text)).toEqual(["7-(3-2)", "7-3-2", "7+3-2", "7*(3+2)", "7/(3*2)", "7/3*2"]);
  for (const { text, value } of written) expect(readArithmetic(text)!.value).toBeCloseTo(value, 12);
});

test("the solver says so when there is no way", () => {
  expect(solveCountdown([1, 1], 7)).toBeUndefined();
  expect(readArithmetic(solveCountdown([8, 3, 8, 3], 24)!)!.value).toBeCloseTo(24, 9);
});

test("the expert solves every task, with 3 or 4 numbers", async () => {
  const env = countdown();
  const counts = new Set<number>();
  for (let i = 0; i < 150; i++) {
    const made = await env.tasks.at(i % 2 ? "train" : "test", i);
    counts.add(made.data.numbers.length);
    expect(made.data.target).toBeGreaterThanOrEqual(10);
    expect(made.data.target).toBeLessThanOrEqual(99);
    expect((await playEpisode(env, made, "expert")).scores.agent.success).toBe(true);
  }
  expect([...counts].sort()).toEqual([3, 4]);
});

test("with signs alone, every target is a sum of signed numbers", async () => {
  const env = countdown({ operators: ["+", "-"] });
  for (let i = 0; i < 50; i++) {
    const { numbers, target } = (await env.tasks.at("train", i)).data;
    expect(solveCountdown(numbers, target, ["+", "-"])).toBeDefined();
  }
});

test("the order of the numbers does not make another task", async () => {
  const env = countdown({ counts: [2], maxNumber: 9, minTarget: 1, maxTarget: 18 });
  const keys = async (split: string) =>
    new Set(
      await Promise.all(
        Array.from({ length: 300 }, async (_, i) => {
          const { numbers, target } = (await env.tasks.at(split, i)).data;
          return [...numbers.toSorted(), target].join(" ");
        }),
      ),
    );
  const [train, held] = [await keys("train"), await keys("test")];
  expect([...held].filter((key) => train.has(key))).toEqual([]);
  expect(held.size).toBeGreaterThan(5);
});

test("options that make no task are refused in words", () => {
  expect(() => countdown({ counts: [1] })).toThrow(/counts\[0\] = 1/);
  expect(() => countdown({ operators: [] })).toThrow(/no operators/);
  expect(() => countdown({ maxNumber: 1, operators: ["-"], minTarget: 50 }).tasks.at("train", 0)).toThrow(/no-task/);
});

test("works three numbers out before the answer, which is the last line", async () => {
  const env = countdown({ style: "working" });
  expect(workOut([3, 5, 2], 16)).toBe("3:13,19 5:11,21 2:14,18,8=5+3\n(5+3)*2");
  expect(workOut([90, 7, 3], 80)).toBe("90:10=7+3\n90-(7+3)");
  expect(await scoreOf("2:8=3+5\n(3+5)*2", { style: "working" })).toMatchObject({ total: 1, success: true });
  expect(await scoreOf("(3+5)*2\n2:8", { style: "working" })).toMatchObject({ success: false });
  expect(await scoreOf(" \n ", { style: "working" })).toMatchObject({ total: 0 });
  let worked = 0;
  for (let i = 0; i < 200; i++) {
    const made = await env.tasks.at("train", i);
    expect((await playEpisode(env, made, "expert")).scores.agent.success).toBe(true);
    if (made.data.numbers.length === 3 && workOut(made.data.numbers, made.data.target)?.includes("\n")) worked++;
  }
  expect(worked).toBeGreaterThan(70);
});
