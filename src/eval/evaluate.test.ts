import { describe, expect, test } from "vitest";
import { fakeEngine } from "../engine/fake-engine.ts";
import { defineEnv } from "../env/define-env.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import type { Policy } from "../rollout/rollout.ts";
import { generated } from "../task/generated.ts";
import { listed } from "../task/listed.ts";
import { budgetCurve, evaluateSplits } from "./budget-curve.ts";
import { contamination, openingTexts } from "./contamination.ts";
import { evaluate, measure } from "./evaluate.ts";
import { bestOfN, majorityVote } from "./select-attempts.ts";
import { evalReportFromJson } from "./stored-report.ts";

const tokenizer = byteTokenizer({ special: ["<s>", "<e>"], markup: [], eos: "<e>" });
const renderer = compactRenderer({ tokenizer });
const [speak, end] = [256, 257];

/** Says one letter a turn: what `says` gives for what it has read last, drawn by weight. */
function lettersPolicy(
  says: (read: string) => Record<string, number>,
  beforeSample?: (rollout: string) => void,
): Policy {
  const engine = fakeEngine({
    vocabularySize: 258,
    tokenBytes: Array.from({ length: 258 }, (_, id) => tokenizer.tokenBytes(id)),
    distribution(tokens) {
      const weights = new Array<number>(258).fill(0);
      if (tokens.at(-1) !== speak) weights[end] = 1;
      else
        for (const [letter, weight] of Object.entries(says(String.fromCharCode(tokens.at(-2)!)))) {
          weights[letter.charCodeAt(0)] = weight;
        }
      return weights;
    },
    beforeSample: ({ rollout }) => beforeSample?.(rollout!),
  });
  return { engine, renderer };
}

/** Say what you read. */
const echo = defineEnv({
  name: "echo",
  tasks: listed({ train: ["t"], test: ["a", "b", "c", "d"], other: ["x", "y"] }),
  start: ({ task }) => ({ state: {}, say: task }),
  score: ({ task, answer }) => (answer === task ? 1 : 0),
  limits: { turnTokens: 4 },
});

test("success is the share of tasks solved, with its interval", async () => {
  const report = await evaluate(
    echo,
    lettersPolicy((read) => ({ [read === "d" ? "x" : read]: 1 })),
    { tasks: 100 },
  );
  expect(report).toMatchObject({
    split: "test",
    tasks: 4,
    attempts: 1,
    infrastructureFailures: 0,
    stops: { completed: 4 },
    turns: 1,
  });
  expect(report.success.mean).toBe(0.75);
  expect(report.success.low).toBeCloseTo(0.3006, 3);
  expect(report.sampledTokens).toBe(2);
});

test("the same options give the same report, whatever was evaluated before", async () => {
  const policy = lettersPolicy((read) => ({ [read]: 1, x: 1 }));
  const { rollouts, ...report } = await evaluate(echo, policy, { attempts: 4 });
  const words = (all: typeof rollouts) => all.map(({ trajectories }) => trajectories[0].turns[0].text);
  const again = await evaluate(echo, policy, { attempts: 4 });
  expect(words(again.rollouts)).toEqual(words(rollouts));
  expect({ ...again, rollouts: [] }).toEqual({ ...report, rollouts: [] });
  expect(words((await evaluate(echo, policy, { attempts: 4, seed: 2 })).rollouts)).not.toEqual(words(rollouts));
});

describe("with several attempts", () => {
  const policy = () => lettersPolicy((read) => (read === "a" ? { a: 1 } : read === "b" ? { b: 1, x: 1 } : { x: 1 }));

  test("pass@k and pass^k are those of the attempts at each task", async () => {
    const { passAtK, passHatK, rollouts, success } = await evaluate(echo, policy(), { attempts: 8 });
    const solved = rollouts.filter(
      ({ task, trajectories }) => task.data === "b" && trajectories[0].score.success,
    ).length;
    expect(solved).toBeGreaterThan(1);
    expect(solved).toBeLessThan(8);
    expect(Object.keys(passAtK)).toEqual(["1", "2", "4", "8"]);
    expect(passAtK[1].mean).toBeCloseTo((8 + solved) / 32, 12);
    expect(passAtK[8].mean).toBe(0.5);
    for (const { mean, low, high } of [...Object.values(passAtK), ...Object.values(passHatK)]) {
      expect(low < mean && mean < high && low >= 0 && high <= 1).toBe(true);
    }
    expect(passHatK[8].mean).toBe(0.25);
    expect(passHatK[2].mean).toBeCloseTo((1 + (solved * (solved - 1)) / (8 * 7)) / 4, 12);
    expect(success.mean).toBeCloseTo(passAtK[1].mean, 12);
    expect(success.low).toBeGreaterThanOrEqual(0);
  });

  test("the best by a scorer, and what most say", async () => {
    const report = await evaluate(echo, policy(), { attempts: 8 });
    const oracle = await bestOfN(report, ({ trajectories }) => trajectories[0].score.total);
    expect(oracle.mean).toBe(0.5);
    const worst = await bestOfN(report, async ({ trajectories }) => -trajectories[0].score.total);
    expect(worst.mean).toBe(0.25);
    const words = report.rollouts
      .filter(({ task }) => task.data === "b")
      .map((each) => each.trajectories[0].turns[0].text);
    const isMajority =
      words.filter((word) => word === "b").length * 2 > 8 ||
      (words[0] === "b" && words.filter((w) => w === "b").length === 4);
    expect(majorityVote(report).mean).toBe(isMajority ? 0.5 : 0.25);
    expect(majorityVote(report, () => undefined).mean).toBe(0);
  });
});

describe("attempts that end in infrastructure failures", () => {
  test("are in no figure but their own", async () => {
    const broken = (rollout: string) => {
      // every attempt at the first task, once more included, and the first try of one at the second
      if (rollout.includes("test/0/") || rollout.endsWith("test/1/0/agent")) throw new Error("no engine");
    };
    const report = await evaluate(
      echo,
      lettersPolicy((read) => ({ [read]: 1 }), broken),
      { attempts: 2 },
    );
    expect(report.infrastructureFailures).toBe(2);
    expect(report.tasks).toBe(4);
    expect(report.success.mean).toBe(1);
    expect(report.reward.mean).toBe(1);
    expect(report.passAtK).toMatchObject({ 1: { mean: 1, high: 1 }, 2: { mean: 1, high: 1 } });
    expect(report.stops).toEqual({ completed: 6, "engine-error": 2 });
  });

  test("leave a task with fewer attempts, which still tell of fewer", async () => {
    const broken = (rollout: string) => {
      if (/test\/\d\/0/.test(rollout)) throw new Error("no engine");
    };
    const report = await evaluate(
      echo,
      lettersPolicy((read) => ({ [read]: 1 }), broken),
      { attempts: 4 },
    );
    expect(report.infrastructureFailures).toBe(4);
    expect(report.passAtK).toMatchObject({ 1: { mean: 1, high: 1 }, 2: { mean: 1, high: 1 } });
  });

  test("that are all there is are an error with their text", async () => {
    const policy = lettersPolicy(
      () => ({ a: 1 }),
      () => {
        throw new Error("no engine");
      },
    );
    await expect(evaluate(echo, policy)).rejects.toThrow(
      /everything-crashed.*all 4.*8 × engine-error: Error: no engine/,
    );
    expect(await measure(echo, policy)).toMatchObject({ infrastructureFailures: 4, success: { mean: 0 }, passAtK: {} });
  });
});

test("no tasks are refused", async () => {
  await expect(
    evaluate(
      echo,
      lettersPolicy(() => ({ a: 1 })),
      { tasks: 0 },
    ),
  ).rejects.toThrow(/bad-eval/);
});

test("a stored report is the same but for its rollouts", async () => {
  const report = await evaluate(
    echo,
    lettersPolicy(() => ({ a: 1 })),
    { tasks: 1, attempts: 2 },
  );
  const { rollouts: _rollouts, ...summary } = report;
  expect(evalReportFromJson(summary)).toEqual({ ...summary, rollouts: [] });
  expect(() => evalReportFromJson({ split: "test" })).toThrow();
});

test("more turns, more success", async () => {
  const steps = defineEnv({
    name: "steps",
    tasks: generated((rng) => 1 + rng.integer(4)),
    start: ({ task }) => ({ state: { left: task }, say: "." }),
    act: ({ state }) => (--state.left === 0 ? { done: true } : { say: "." }),
    score: ({ state }) => (state.left === 0 ? 1 : 0),
    limits: { turns: 10, turnTokens: 4 },
  });
  const curve = await budgetCurve(
    steps,
    lettersPolicy(() => ({ a: 1 })),
    [1, 2, 4],
    { tasks: 40 },
  );
  const [one, two, four] = curve.map(({ report }) => report.success.mean);
  expect(curve.map(({ turns }) => turns)).toEqual([1, 2, 4]);
  expect(one).toBeLessThan(two);
  expect(two).toBeLessThan(four);
  expect(four).toBe(1);
});

test("every split but that of training", async () => {
  const reports = await evaluateSplits(
    echo,
    lettersPolicy(() => ({ a: 1, x: 1 })),
    { tasks: 10 },
  );
  expect(Object.keys(reports)).toEqual(["test", "other"]);
  expect(reports.other.tasks).toBe(2);
});

describe("contamination", () => {
  const words = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `w${from + i}`).join(" ");

  test("is the share of words in rows of ten that training texts have too", () => {
    const train = [words(0, 30)];
    const copied = words(5, 25);
    const half = `${words(0, 10)} ${words(100, 110)}`;
    const nine = `${words(0, 9)} ${words(200, 211)}`;
    const { shares, mean, dirty, clean, worst } = contamination(train, [copied, half, nine, words(300, 320)]);
    expect(shares).toEqual([1, 0.5, 0, 0]);
    expect([mean, dirty, clean]).toEqual([0.375, 0.25, 0.5]);
    expect(worst.map(({ index }) => index)).toEqual([0, 1]);
  });

  test("does not mind case and punctuation, and takes short texts whole", () => {
    const { shares } = contamination(
      ["Please, buy the RED shoes now."],
      ["buy the red shoes!", "buy the blue shoes", ""],
    );
    expect(shares).toEqual([1, 0, 0]);
  });

  test("can be asked of an environment", async () => {
    const train = await openingTexts(echo, "train", 10);
    expect(train).toEqual(["t"]);
    expect(contamination(train, await openingTexts(echo, "test", 10)).mean).toBe(0);
  });
});
