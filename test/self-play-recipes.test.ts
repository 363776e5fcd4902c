import { describe, expect, test } from "vitest";
import { execute, isProgram } from "../recipes/absolute-zero/executor.ts";
import { absoluteZero } from "../recipes/absolute-zero/recipe.ts";
import {
  type AbsoluteZeroTask,
  absoluteZeroWorld,
  kinds,
  readProposal,
  tasksOfPeople,
} from "../recipes/absolute-zero/world.ts";
import { agentRlvrCode } from "../recipes/agent-rlvr-code/recipe.ts";
import { drawTask, following, hintFor, readEdit, smallRepositories } from "../recipes/agent-rlvr-code/world.ts";
import { playEpisode } from "../src/env/environments/testing/play-episode.ts";
import { createRng } from "../src/random.ts";
import { noBubblewrap } from "../src/tool/sandbox/testing/bubblewrap-here.ts";

const triple = { program: "a=a+3;a=a*2", inputs: [1, 2, 4, 5, 7, 9], outputs: [8, 10, 14, 16, 20, 24] };
const task = (role: AbsoluteZeroTask["role"], kind: AbsoluteZeroTask["kind"]): AbsoluteZeroTask => ({
  role,
  kind,
  ...triple,
  references: ["a=a+1 4"],
});

test("claims are about measures that their recipe has", () => {
  for (const { claims, measures } of [absoluteZero, agentRlvrCode]) {
    for (const { measure } of claims) expect(Object.keys(measures)).toContain(measure);
  }
});

test("programs are lines of arithmetic and nothing else", () => {
  expect(["a=a+3", "a=max(a,5);a=a*2"].every(isProgram)).toBe(true);
  expect(["", "a", "import os", "a=__import__", "b=3", "a=[1]", `a=${"a+1".repeat(20)}`].some(isProgram)).toBe(false);
});

describe.skipIf(noBubblewrap !== undefined)("Absolute Zero, in boxes", () => {
  const pay = async (data: AbsoluteZeroTask, said: string, share = 0.25) => {
    const env = absoluteZeroWorld({ tasks: tasksOfPeople(true), solve: async () => share });
    const played = await playEpisode(env, { ...(await env.tasks.at("test", 0)), data }, [said]);
    return Object.values(played.scores)[0]!.total;
  };

  test("Python says what a program gives; what cannot be run, or is too large, gives nothing", async () => {
    expect(await execute("a=a+3;a=min(a,9)", [1, 2, 30])).toEqual([4, 5, 9]);
    expect(await Promise.all(["a=a+", "a=x", "a=a*999*999", "a=max(a)"].map((each) => execute(each, [7])))).toEqual(
      Array(4).fill(undefined),
    );
  });

  test("a solver is paid 1, -0.5 or -1 for each kind of task", async () => {
    expect(await Promise.all(["8", "9", "eight"].map((said) => pay(task("solve", "deduction"), said)))).toEqual([
      1, -0.5, -1,
    ]);
    expect(await Promise.all(["1", "2", "a=1"].map((said) => pay(task("solve", "abduction"), said)))).toEqual([
      1, -0.5, -1,
    ]);
    const programs = ["a=a*2;a=a+6", "a=a+7", "f(a)"];
    expect(await Promise.all(programs.map((said) => pay(task("solve", "induction"), said)))).toEqual([1, -0.5, -1]);
  });

  test("a proposer is paid for what is solved sometimes", async () => {
    const propose = task("propose", "deduction");
    expect(await pay(propose, "a=a+3;a=a*2 5", 0.25)).toBe(0.75);
    expect(await pay(propose, "a=a+3 5", 1)).toBe(-0.5);
    expect(await pay(propose, "a=a+3 5", 0)).toBe(-0.5);
    expect(await pay(propose, "a=a+ 5")).toBe(-0.5);
    expect(await pay(propose, "add three")).toBe(-1);
    expect(await pay(task("propose", "induction"), "1 2 3 4", 0.5)).toBe(0.5);
    expect(await pay(task("propose", "induction"), "1 1 1 1")).toBe(-1);
  });

  test("a proposal has what its program gives", async () => {
    expect(await readProposal(task("propose", "abduction"), "a=a-9 4")).toEqual({
      program: "a=a-9",
      inputs: [4],
      outputs: [-5],
    });
  });

  test("experts solve tasks of people, whose programs Python agrees about", async () => {
    const source = tasksOfPeople(true);
    const seen = new Set<string>();
    for (let i = 0; i < 30; i++) {
      const { data } = await source.at("test", i);
      seen.add(data.kind);
      // in another order: nothing is known of it yet
      expect(await execute(data.program, [...data.inputs, 3])).toEqual([...data.outputs, expect.any(Number)]);
    }
    expect(seen).toEqual(new Set(kinds));
  });
});

describe.skipIf(noBubblewrap !== undefined)("Agent-RLVR on repositories, in boxes", () => {
  const env = smallRepositories();
  const score = async (index: number, said: (data: ReturnType<typeof drawTask>) => string) => {
    const asked = await env.tasks.at("train", index);
    const played = await playEpisode(env, asked, [said(asked.data)]);
    return Object.values(played.scores)[0]!.total;
  };
  const line = (words: string) => words.replace("add ", "a+").replace("sub ", "a-").replace("mul ", "a*");

  test("the fix passes the hidden tests, and the line as it is does not", async () => {
    for (let i = 0; i < 10; i++) {
      expect(await score(i, ({ bug, files }) => `${bug} ${line(files[bug].words)}`)).toBe(1);
      expect(await score(i, ({ bug, files }) => `${bug} ${files[bug].line}`)).toBe(0);
    }
    expect(await score(0, () => "fix it")).toBe(0);
  });

  test("a fix that follows a hint is the one that passes, and the file that was changed last has the bug", async () => {
    for (let i = 0; i < 5; i++) {
      const { data } = await env.tasks.at("train", i);
      expect(data.log[0]).toBe(data.bug);
      expect(hintFor("plan", data)).toBe(`redo ${data.bug}`);
      expect(hintFor("environment", data)).toContain(data.files[data.bug].words);
      expect(hintFor("feedback", data, `${data.log[1]} a+1`)).toBe(`not ${data.log[1]}`);
    }
  });
});

test("demonstrations of hints say nothing about where bugs are", () => {
  const rng = createRng(3);
  for (let i = 0; i < 50; i++) {
    const data = drawTask(rng, true);
    expect(
      Object.values(data.files).every(
        ({ words, line }) =>
          !line.endsWith(words.slice(4)) || line[1] !== { add: "+", sub: "-", mul: "*" }[words.slice(0, 3)],
      ),
    ).toBe(true);
    const excluded = data.log.find((name) => name !== data.bug)!;
    expect(readEdit(following(data, `not ${excluded}`, rng).shown!)?.file).not.toBe(excluded);
    expect(readEdit(following(data, undefined, rng).shown!)).toBeDefined();
    expect(following(data, `redo ${data.bug}`, rng).shown).toBeUndefined();
  }
});
