import { afterEach, describe, expect, test } from "vitest";
import { z } from "zod";
import { hermes } from "../policy/formats/hermes.ts";
import { generated } from "../task/generated.ts";
import { listed } from "../task/listed.ts";
import type { EnvFindingCode } from "./check/findings.ts";
import { checkEnv } from "./check-env.ts";
import { defineEnv, type EnvDefinition } from "./define-env.ts";
import type { Env } from "./env.ts";

interface Sum {
  readonly numbers: number[];
}
interface State {
  tries: number;
}
type Definition = EnvDefinition<Sum, State>;

const total = ({ numbers }: Sum) => numbers.reduce((a, b) => a + b, 0);
const tasks = generated((rng): Sum => ({ numbers: [rng.integer(1000), rng.integer(1000)] }), {
  key: ({ numbers }) => numbers.join(),
});

/** Keeps every promise; each test breaks one. */
function make(change: Partial<Definition> = {}): Env<Sum, State> {
  return defineEnv<Sum, State>({
    name: "sum",
    description: "Add two numbers, in three tries",
    tasks,
    start: ({ task }) => ({ state: { tries: 0 }, say: task.numbers.join("+") }),
    act({ task, state, answer }) {
      state.tries++;
      return Number(answer) === total(task) ? { done: true } : { say: "no" };
    },
    score: ({ task, state, answer }) => ({
      outcome: Number(answer) === total(task) ? 1 : 0,
      speed: -0.01 * state.tries,
    }),
    expert: ({ task }) => String(total(task)),
    actions: ({ task: { numbers } }) => [...numbers, total({ numbers })].map(String),
    stateKey: ({ tries }) => String(tries),
    limits: { turns: 3, turnTokens: 8 },
    ...change,
  });
}

const quick = { timeoutMs: 100, tasks: 2, throw: false };
const check = async (change: Partial<Definition>, options = {}) => checkEnv(make(change), { ...quick, ...options });
const never = () => new Promise<never>(() => {});

test("one that keeps its promises has nothing to be said about it", async () => {
  const report = await checkEnv(make());
  expect(report).toEqual({ env: "sum", episodes: expect.any(Number), findings: [] });
  expect(report.episodes).toBeGreaterThan(100);
});

test("the same check gives the same report", async () => {
  const broken = { act: () => ({ say: "x", reward: Number.NaN }) };
  expect(await check(broken)).toEqual(await check(broken));
});

let clock = 0;
let shared = 0;
const timers: NodeJS.Timeout[] = [];
afterEach(() => {
  for (const timer of timers.splice(0)) clearTimeout(timer);
});

const tool: Definition["tools"] = (make) => ({
  look: make({ description: "Looks", input: z.object({ at: z.string() }), run: ({ at }) => at.slice(0, 10) }),
});

describe("every broken promise is found, and no other", () => {
  test.each<[EnvFindingCode, RegExp, Partial<Definition>]>([
    ["no-description", /the description of sum is its name/, { description: "sum" }],
    [
      "tool-without-description",
      /the tool "look"/,
      { tools: (make) => ({ look: make({ input: z.object({}), run: () => "" }) }), format: hermes() },
    ],
    ["no-tasks", /no split "test"/, { tasks: listed({ train: [{ numbers: [1, 2] }] }) }],
    [
      "no-tasks",
      /"test": no-task: got "test" of listed/,
      { tasks: listed({ train: [{ numbers: [1, 2] }], test: [] }) },
    ],
    [
      "tasks-change",
      /task 0 of "train", asked for twice: data\.numbers/,
      { tasks: generated(() => ({ numbers: [++clock] })) },
    ],
    ["splits-overlap", /100 % of 3 different tasks/, { tasks: generated((rng) => ({ numbers: [rng.integer(3)] })) }],
    [
      "crash",
      /at the start: RangeError: no room at \S/,
      {
        start: () => {
          throw new RangeError("no room");
        },
      },
    ],
    [
      "crash",
      /told "null": TypeError: .*reading 'at'/,
      {
        act: ({ answer }) => ({
          say: String(
            JSON.parse(answer === "null" ? answer : "{}")?.at ?? JSON.parse(answer === "null" ? answer : "{}").at,
          ),
        }),
        expert: undefined as never,
      },
    ],
    [
      "crash",
      /tool "look": TypeError: not a path/,
      {
        tools: (make) => ({
          look: make({
            description: "Looks",
            input: z.object({ at: z.string() }),
            run: ({ at }) => {
              if (at.includes("..")) throw new TypeError("not a path");
              return at.slice(0, 9);
            },
          }),
        }),
        format: hermes(),
      },
    ],
    ["crash", /Error: cannot close/, { close: () => Promise.reject(new Error("cannot close")) }],
    ["crash", /`next` names the role "judge"/, { act: () => ({ next: "judge" }), expert: undefined as never }],
    ["hangs", /at the start: the environment did not answer within limits\.envMs/, { start: never }],
    ["hangs", /told "\d+": the environment did not answer/, { act: never }],
    [
      "hangs",
      /tool "look": it took longer than 100 ms/,
      {
        tools: (make) => ({ look: make({ description: "Looks", input: z.object({ at: z.string() }), run: never }) }),
        format: hermes(),
      },
    ],
    ["hangs", /did not answer/, { score: never }],
    [
      "blocks-thread",
      /told ".*: it took \d+ ms/,
      {
        act: ({ task, answer }) => {
          const until = performance.now() + (answer.length > 20_000 ? 150 : 0);
          while (performance.now() < until);
          return { done: Number(answer) === total(task) };
        },
      },
    ],
    [
      "not-finite",
      /act gave the reward NaN/,
      { act: ({ task, state, answer }) => ({ reward: 0 / state.tries, done: Number(answer) === total(task) }) },
    ],
    ["not-finite", /score gave outcome = Infinity/, { score: ({ answer }) => ({ outcome: 1 / (answer.length && 0) }) }],
    ["not-finite", /score gave score = NaN/, { score: () => Number.NaN }],
    [
      "not-finite",
      /a reward of NaN/,
      {
        tools: (make) => ({
          look: make({ description: "Looks", input: z.object({}), run: (_, { reward }) => reward(Number.NaN) }),
        }),
        format: hermes(),
      },
    ],
    [
      "not-text",
      /act said 7/,
      { act: ({ task, answer }) => ({ say: 7 as unknown as string, done: Number(answer) === total(task) }) },
    ],
    [
      "not-text",
      /start said \{"sum":true\}/,
      { start: () => ({ state: { tries: 0 }, say: { sum: true } as unknown as string }) },
    ],
    [
      "nondeterministic",
      /heard\[0\]\.messages\[0\]\.content was "\d+", then "\d+"/,
      { start: () => ({ state: { tries: 0 }, say: String(++clock) }) },
    ],
    [
      "nondeterministic",
      /turns\[0\]\.reward was \d+, then \d+/,
      { act: ({ task, answer }) => ({ reward: ++clock, done: Number(answer) === total(task) }) },
    ],
    [
      "asking-changes-state",
      /without asking.*turns\[0\]\.stateKey was "1", then "0"/,
      {
        actions: ({ state, task }) => {
          state.tries++;
          return [String(total(task))];
        },
      },
    ],
    [
      "state-leaks",
      /played alone and then beside \d+ others: .*was /,
      {
        start: ({ task }) => {
          shared = total(task);
          return { state: { tries: 0 }, say: task.numbers.join("+") };
        },
        act: ({ answer }) => (Number(answer) === shared ? { done: true } : { say: `less than ${shared}?` }),
      },
    ],
    [
      "task-mutated",
      /data\.numbers\[0\] was \d+, then 0/,
      {
        act: ({ task, answer }) => {
          const done = Number(answer) === total(task);
          if (!done) task.numbers[0] = 0;
          return { done };
        },
      },
    ],
    [
      "score-changes",
      /scored twice, speed was 0, then -1/,
      {
        score: ({ task, state, answer }) => ({
          outcome: Number(answer) === total(task) ? 1 : 0,
          speed: -state.tries++,
        }),
        act: ({ task, answer }) => ({ done: Number(answer) === total(task) }),
      },
    ],
    [
      "left-open",
      /\d+ more of the kind Timeout/,
      {
        start: ({ task }) => {
          timers.push(setTimeout(() => {}, 1e6));
          return { state: { tries: 0 }, say: task.numbers.join("+") };
        },
      },
    ],
    [
      "expert-crash",
      /task generated\/train\/0.*: lost/,
      {
        expert: () => {
          throw new Error("lost");
        },
      },
    ],
    ["expert-crash", /unwritable/, { expert: () => ({ calls: [{ name: "x", arguments: {} }] }) }],
    [
      "expert-never-succeeds",
      /at none of 4 tasks; at generated\/train\/0 said \["0","0","0"\], and it ended max-turns/,
      { expert: () => "0" },
    ],
    ["expert-never-succeeds", /had nothing to say/, { expert: () => undefined }],
    [
      "expert-over-limits",
      /4 of 4 tasks need more than the 1 turns/,
      {
        act: ({ state, answer, task }) => ({ done: ++state.tries > 2 && Number(answer) === total(task) }),
        score: ({ state }) => (state.tries > 2 ? 1 : 0),
        limits: { turns: 1 },
      },
    ],
    ["expert-over-limits", /limits\.turnTokens is 8/, { expert: ({ task }) => `0${"0".repeat(40)}${total(task)}` }],
    [
      "expert-over-limits",
      /in all; limits\.tokens is 1/,
      { limits: { tokens: 1 }, expert: ({ task }) => `00000${total(task)}` },
    ],
    [
      "observation-cut",
      /start said 9000 characters, and limits\.observationChars is 8000/,
      { start: () => ({ state: { tries: 0 }, say: "x".repeat(9000) }) },
    ],
    [
      "garbage-succeeds",
      /"" succeeds at all 4 tasks/,
      { act: () => ({ done: true }), score: ({ answer }) => (answer === "" || Number(answer) > 0 ? 1 : 0) },
    ],
  ])("%s: %s", async (code, evidence, change) => {
    const { findings } = await check(change);
    expect(findings.map((finding) => finding.code)).toEqual([code]);
    expect(findings[0].message).toMatch(evidence);
    expect(findings[0].remedy.length).toBeGreaterThan(20);
  });
});

test("it throws what is broken, with the evidence and the remedy; never a warning", async () => {
  await expect(checkEnv(make({ expert: () => "0" }), { tasks: 2 })).rejects.toThrow(
    /^env-broken: got 1 broken promises of sum, expected none\. \nerror expert-never-succeeds: at none of 4 tasks.*\n {2}Is the score right\?/,
  );
  const { findings } = await checkEnv(make({ description: "" }), { tasks: 2 });
  expect(findings).toMatchObject([{ code: "no-description", isWarning: true }]);
});

test("tools that keep their promises, told nonsense", async () => {
  expect((await check({ tools: tool, format: hermes() })).findings).toEqual([]);
});

test("without an expert and actions it is played with nonsense alone", async () => {
  const { expert: _expert, actions: _actions, ...rest } = make();
  expect(await checkEnv(rest, quick)).toMatchObject({ findings: [] });
});
