import { describe, expect, test } from "vitest";
import { cutOf } from "../recipes/code-rl/sampling.ts";
import { drawRepository, judge, ownValues, pythonOf, smallRepositories } from "../recipes/deep-swe/world.ts";
import { runLines } from "../recipes/lines.ts";
import { drawTask, programOf, runProgram } from "../recipes/programs.ts";
import { check, injectorReward } from "../recipes/ssr/checks.ts";
import { readEdits } from "../recipes/ssr/language.ts";
import { secondOrder } from "../recipes/ssr/recipe.ts";
import { isMended, type MendTask, mendTask, selfPlay } from "../recipes/ssr/world.ts";
import { playEpisode } from "../src/env/environments/testing/play-episode.ts";
import { createRng } from "../src/random.ts";
import { pythonEvaluator } from "../src/tool/sandbox/python-evaluator.ts";
import { noBubblewrap } from "../src/tool/sandbox/testing/bubblewrap-here.ts";

const repository = {
  words: { f: ["double", "3 more"], g: ["square", "cap 9"] },
  sources: { f: ["a=a*2", "a=a+3"], g: ["a=a*a", "a=min(a,9)"] },
};
const { sources } = repository;

describe("self-play: an artifact is checked before it is a bug", () => {
  test.each([
    ["f1>a=a-3", "parser is valid"],
    ["f3>a=a-3 12 1", "parser is valid"],
    ["f1>a=a-3;f1>a=a+1 12 1", "parser is valid"],
    ["f1>a=a-3 13 1", "test files exist"],
    // tests are taken out of a file that is not run
    ["f1>a=a-3 1 2", "test files exist"],
    ["f1>a=a-3 1 1", "enough tests pass"],
    ["f1>a=a*2 12 1", "enough files are changed"],
    ["f2>a=a+3; 12 1", "parser is valid"],
    ["g2>a=min(a,9) 12 2", "enough files are changed"],
    ["f1>a=a-3 12 2", "weakening hides failures"],
  ])("%s: %s", (text, expected) => {
    expect(check(sources, text)).toBe(expected);
  });

  test("a bug of two files of which each matters, and one by removal", () => {
    expect(check(sources, "f1>a=a-3;g2> 12 12")).toMatchObject({ buggy: { f: ["a=a-3", "a=a+3"], g: ["a=a*a", ""] } });
    expect(check(sources, "f2> 12 1")).toMatchObject({ hidden: [{ input: 1 }, { input: 4 }, { input: 9 }] });
  });

  test("a change that no test notices is none", () => {
    const loose = { ...sources, g: ["a=a*a", "a=min(a,90)"] };
    expect(check(loose, "g2>a=min(a,99) 12 2")).toBe("enough tests fail");
    // inverse mutation testing: beside one of f that they do notice
    expect(check(loose, "f1>a=a-3;g2>a=min(a,99) 12 1")).toBe("every change matters");
  });

  test("tests that fail by chance are found by running them again", () => {
    // whether they fail with one seed and pass with the other, or fail with both
    for (const below of [4, 99]) {
      const original = { ...sources, f: ["a=a*2", "a=min(a,0)"] };
      expect(check(original, `f2>a=rnd(${below}) 12 1`)).toBe("outcomes are the same again");
    }
  });

  test("rewards: bugs that some solvers mend", () => {
    expect([0, 1, 0.25].map(injectorReward)).toEqual([-0.8, -0.8, expect.closeTo(0.55, 9)]);
  });
});

describe("self-play: a solver", () => {
  const bug = check(sources, "f1>a=a-3 12 1");
  const task: MendTask = mendTask(repository, bug as Exclude<typeof bug, string>);

  test("is told the tests that were taken out, and mends code alone", async () => {
    const env = selfPlay({ kinds: ["mend"] });
    const played = await playEpisode(env, { ...(await env.tasks.at("train", 0)), data: task }, ["f1>a=a+a"]);
    expect(Object.values(played.scores)[0]).toMatchObject({ total: 1, success: true });
    expect(isMended(task, "f1>a=a*2")).toBe(true);
    for (const said of ["f2>a=a*2", "f1>a=a-3", "12", "", "t1>"]) expect(isMended(task, said)).toBe(false);
  });

  test("that fails leaves a bug of second order, unless nothing changed or chance decides", () => {
    expect(secondOrder(task, "g1>a=a+1")).toMatchObject({
      buggy: { f: ["a=a-3", "a=a+3"], g: ["a=a+1", "a=min(a,9)"] },
    });
    for (const said of ["f1>a=a*2", "f1>a=a-3", "nonsense"]) expect(secondOrder(task, said)).toBeUndefined();
  });

  test("reads edits of lines, each once", () => {
    expect(readEdits("f1>a=a+3;g2>")).toEqual([
      { file: "f", line: 0, text: "a=a+3" },
      { file: "g", line: 1, text: "" },
    ]);
    for (const text of ["", "f1", "f1>a;f1>b", "x1>a", "f1>a b"]) expect(readEdits(text)).toBeUndefined();
  });
});

test("CodeRL begins anew where the critic's word falls most, or after its best where examples pass", () => {
  const mask_T = Uint8Array.of(0, 1, 1, 1, 1);
  const word_T = Float32Array.of(0, 0.5, 0.9, 0.2, 0.1);
  expect(cutOf({ mask_T }, word_T, false)).toBe(3);
  expect(cutOf({ mask_T }, word_T, true)).toBe(3);
  expect(cutOf({ mask_T }, Float32Array.of(0, 0.1, 0.2, 0.3, 0.9), true)).toBe(4);
});

describe.skipIf(noBubblewrap !== undefined)("in boxes", () => {
  test("lines give what Python gives", async () => {
    const rng = createRng(3);
    const tasks = Array.from({ length: 30 }, () => drawTask(rng, [3]));
    const { signal } = new AbortController();
    const results = await Promise.all(tasks.map((each) => runProgram(`${programOf(each)} `, each, signal)));
    const own = tasks.map(({ steps, start }) =>
      [0, 1, 2, 5, 8, 13, start].map((input) =>
        runLines(
          steps.map(({ line }) => line),
          input,
        ),
      ),
    );
    expect(results).toEqual(own.map((value) => ({ kind: "value", value })));
  });

  test("a repository gives in Python what is expected of it", async () => {
    const rng = createRng(4);
    const { files } = drawRepository(rng);
    const right = Object.fromEntries(
      Object.entries(files).map(([name, lines]) => [name, lines.map(({ line }) => line)]),
    );
    const calls = ["f", "g", "h"].flatMap((name) => [4, 9, 0, 1, 6, 13].map((input) => `${name}(${input})`));
    const { evaluate } = pythonEvaluator();
    expect(await evaluate(pythonOf(right), `[${calls}]`)).toEqual({ kind: "value", value: ownValues(right) });
  });

  test("DeepSWE: an episode pays for hidden tests, once the end is said", async () => {
    const env = smallRepositories();
    const line = (words: string, text: string) => ({ words, line: text });
    const data = {
      files: {
        f: [line("double", "a=a*2"), line("3 more", "a=a+3")],
        g: [line("square", "a=a*a"), line("cap 9", "a=min(a,9)")],
        h: [line("f", "a=f(a)"), line("drop 2", "a=a-2")],
      },
      bug: { file: "f", line: 1, wrong: "a=a-3" },
    };
    const play = async (said: string[]) => {
      const played = await playEpisode(env, { ...(await env.tasks.at("train", 0)), data }, said);
      return { ...played, score: Object.values(played.scores)[0]! };
    };
    const mended = await play(["t", "v f", "e 2 a=3+a", "t", "d"]);
    expect(mended.turns.map(({ observation }) => observation)).toEqual([
      "failed fh",
      "double: a=a*2\n3 more: a=a-3",
      "ok",
      "passed",
      "",
    ]);
    expect(mended.score).toMatchObject({ total: 1, success: true });
    expect(mended.turns.at(-1)?.info).toEqual({ passes: true });
    expect((await play(["e 2 a=a+3", "nonsense", "v f", "e 2 while 1:", "d"])).score.total).toBe(0);
    // no end was said
    expect((await play(["t", "v f", "e 2 a=a+3", "t", "t", "t", "t"])).score.total).toBe(0);
    // right for 4 and 9, which the repository tests, and nothing else
    const fitted = { f: ["a=a*2", "a=a+3 if a in(8,18)else 0"], g: ["a=a*a", "a=min(a,9)"], h: ["a=f(a)", "a=a-2"] };
    expect(await judge(data, fitted)).toEqual({ failing: [], passesHidden: false });
  });
});
