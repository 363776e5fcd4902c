import { describe, expect, test } from "vitest";
import { matchExpression, matchProgram } from "../recipes/ppo-coder/match.ts";
import { compiled, tested } from "../recipes/ppo-coder/recipe.ts";
import { drawTask, functionOf, isRight, programOf, programs, runProgram, sloppy } from "../recipes/programs.ts";
import { reftReward } from "../recipes/reft/recipe.ts";
import { applyEdit, type BugTask, bugs, inTags, near, similarity, tests } from "../recipes/swe-rl/world.ts";
import { playEpisode } from "../src/env/environments/testing/play-episode.ts";
import { createRng } from "../src/random.ts";
import { pythonEvaluator } from "../src/tool/sandbox/python-evaluator.ts";
import { noBubblewrap } from "../src/tool/sandbox/testing/bubblewrap-here.ts";

const { signal } = new AbortController();
const task = {
  start: 7,
  steps: [
    { words: "double", line: "a=a*2" },
    { words: "3 more", line: "a=a+3" },
  ],
  outputs: [3, 5, 7, 13, 19, 29, 17],
};
const value = (outputs: readonly unknown[]) => ({ kind: "value" as const, value: outputs });

test("ReFT pays 1 for the answer, 0.1 for any number, else 0", () => {
  expect(reftReward({ task, result: value([0, 17]) })).toBe(1);
  expect(reftReward({ task, result: value([0, 18]) })).toBe(0.1);
  expect(reftReward({ task, result: value([0, 18]) }, 0)).toBe(0);
  expect(reftReward({ task, result: value([0, "17"]) })).toBe(0);
  expect(reftReward({ task, result: { kind: "threw", message: "" } })).toBe(0);
});

test("PPOCoder pays for compiling, or by CodeRL's four levels", () => {
  const levels = [
    value(task.outputs),
    value([1]),
    { kind: "threw" as const, message: "" },
    { kind: "not-compiled" as const, message: "" },
  ];
  expect(levels.map((result) => compiled({ result }))).toEqual([1, 1, 1, -1]);
  expect(levels.map((result) => tested({ result, task }))).toEqual([1, -0.3, -0.6, -1]);
});

describe.skipIf(noBubblewrap !== undefined)("in boxes", () => {
  test("what programs give is what their instructions say", async () => {
    const rng = createRng(5);
    const tasks = Array.from({ length: 30 }, () => drawTask(rng, [1, 2, 3]));
    // in other words than the reference, which is not run
    const results = await Promise.all(tasks.map((each) => runProgram(`${programOf(each)} `, each, signal)));
    expect(results.every((result, i) => isRight(result, tasks[i]!))).toBe(true);
    const wrong = await runProgram("a=a*3\na=a+3", task, signal);
    expect(isRight(wrong, task)).toBe(false);
  });

  test("an episode pays what the score says, and its program is told as an answer", async () => {
    const env = programs({
      score: ({ result }) => ({ total: 1, parts: { outcome: 1 }, success: result.kind === "value" }),
    });
    const played = await playEpisode(env, { ...(await env.tasks.at("train", 0)), data: task }, ["a=a*2\na=a+3"]);
    expect(played.turns[0]?.info).toEqual({ answer: "17" });
    expect(Object.values(played.scores)[0]).toMatchObject({ total: 1, success: true });
  });

  test.each([
    ["a=a*2\na=a+3", [1, 1]],
    // of eight inner trees the module, the function, the second line and its sum are others
    ["a=a*2\na=a+4", [0.5, 1]],
    // the module, the function and the second line, and one of three edges
    ["a=a*2\nb=a+3", [0.625, 2 / 3]],
    ["a=a*(2", [0, 0]],
  ])("trees and data flow of %j", async (program, expected) => {
    const evaluate = pythonEvaluator().evaluate;
    const found = await evaluate(matchProgram, matchExpression(functionOf(program), functionOf(programOf(task))));
    expect(found).toEqual({ kind: "value", value: expected });
  });

  test("a bug is mended by the right line alone, and similarity barely tells a wrong one apart", async () => {
    const bug: BugTask = { ...task, wrong: ["a=a*2", "a=a-3"], line: 1 };
    const play = async (reward: typeof near, said: string) => {
      const env = bugs(reward);
      const played = await playEpisode(env, { ...(await env.tasks.at("train", 0)), data: bug }, [said]);
      return Object.values(played.scores)[0]!;
    };
    expect(await play(tests, "2>a=a+3")).toMatchObject({ total: 1, success: true });
    expect(await play(tests, "2>a=3+a")).toMatchObject({ total: 1, success: true });
    expect(await play(tests, "2>a=a+4")).toMatchObject({ total: 0, success: false });
    expect(await play(tests, "a=a+3")).toMatchObject({ total: -1, success: false });
    expect(await play(near, "2>a=a+3")).toMatchObject({ total: 1, success: true });
    const [wrong, other] = [await play(near, "2>a=a+4"), await play(near, "2>a=3+a")];
    expect(wrong.total).toBeGreaterThan(0.9);
    // the mis-ranking: a right fix in other words is worth less than a wrong one
    expect(other.total).toBeLessThan(wrong.total);
    expect((await play(near, "3>a=a+3")).total).toBe(-1);
  });
});

test("an edit names a line of the program and changes it", () => {
  const bug = { wrong: ["a=a*2", "a=a-3"] };
  expect(applyEdit(bug, "2>a=a+3")).toEqual(["a=a*2", "a=a+3"]);
  for (const said of ["2>a=a-3", "3>a=1", "a=a-3>a=1", "2>a=1>2", "2>", ""])
    expect(applyEdit(bug, said)).toBeUndefined();
});

test("what is said in few words is in SWE-RL's form for its scorer", () => {
  expect(inTags({ wrong: ["a"] }, "1>b")).toContain("<<<<<<< SEARCH\n a\n=======\n b\n>>>>>>> REPLACE");
  expect(similarity.range).toEqual([-1, 1]);
});

test("a sloppy program differs by one character", () => {
  const rng = createRng(1);
  for (let i = 0; i < 50; i++) {
    const made = sloppy("a=a+5\na=max(a,3)", rng);
    expect(Math.abs(made.length - "a=a+5\na=max(a,3)".length)).toBeLessThanOrEqual(1);
  }
});
