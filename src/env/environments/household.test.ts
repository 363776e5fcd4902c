import { describe, expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { Episode } from "../episode.ts";
import { household } from "./household.ts";
import { type Chore, chores, type Household, openable, rooms } from "./household-rooms.ts";
import { shortName } from "./household-words.ts";
import { playEpisode } from "./testing/play-episode.ts";

const place = (kind: string, number = 1) => ({ name: `${kind} ${number}`, kind, isOpenable: openable.includes(kind) });
const thing = (kind: string, number: number, at: string) => ({ name: `${kind} ${number}`, kind, at });

const places = ["countertop", "cabinet", "fridge", "microwave", "sinkbasin", "sidetable", "diningtable"].map((kind) =>
  place(kind),
);
const things = [
  thing("mug", 1, "cabinet 1"),
  thing("apple", 1, "countertop 1"),
  thing("apple", 2, "fridge 1"),
  thing("desklamp", 1, "sidetable 1"),
];

function taskOf(chore: Chore, wanted: string, target: string) {
  const data: Household = { chore, room: "kitchen", thing: wanted, target, places, things };
  return { id: "task", seed: 1, data };
}

const say = (answer: string) => `<think></think><answer>${answer}</answer>`;

async function play(task: ReturnType<typeof taskOf>, ...answers: string[]) {
  const played = await playEpisode(household({ style: "tags" }), task, answers.map(say));
  return { ...played, told: played.turns.map(({ observation }) => observation), score: played.scores.agent.total };
}

test("a chore in ALFWorld's words", async () => {
  const task = taskOf("clean", "mug", "countertop");
  const { heard, told, stop, score } = await play(
    task,
    ...[
      "inventory",
      "look",
      "go to cabinet 1",
      "take mug 1 from cabinet 1",
      "open cabinet 1",
      "take mug 1 from cabinet 1",
    ],
    ...["inventory", "examine mug 1", "go to sinkbasin 1", "clean mug 1 with sinkbasin 1", "examine mug 1"],
    ...["go to countertop 1", "put mug 1 on countertop 1"],
  );
  expect(heard[0].split("\n").slice(-3)).toEqual([
    "You are in the middle of a room. Looking quickly around you, you see a countertop 1, a cabinet 1, a fridge 1, " +
      "a microwave 1, a sinkbasin 1, a sidetable 1, and a diningtable 1.",
    "",
    "Your task is to: put a clean mug in countertop.",
  ]);
  expect(told).toEqual([
    "You are not carrying anything.",
    "You are in the middle of a room. Looking quickly around you, you see nothing.",
    "You arrive at cabinet 1. The cabinet 1 is closed.",
    "Nothing happens.",
    "You open the cabinet 1. The cabinet 1 is open. In it, you see a mug 1.",
    "You pick up the mug 1 from the cabinet 1.",
    "You are carrying: a mug 1.",
    "There's nothing special about mug 1.",
    "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing.",
    "You clean the mug 1 using the sinkbasin 1.",
    "This is a clean mug 1.",
    "You arrive at countertop 1. On the countertop 1, you see a apple 1.",
    "You put the mug 1 in/on the countertop 1.",
  ]);
  expect([stop, score]).toEqual(["completed", 1]);
});

test("a thing that is cooled is no longer hot, and the other way round", async () => {
  const toFridge = [
    "go to countertop 1",
    "take apple 1 from countertop 1",
    "go to fridge 1",
    "cool apple 1 with fridge 1",
  ];
  const toMicrowave = ["go to microwave 1", "heat apple 1 with microwave 1"];
  const toTable = ["go to diningtable 1", "put apple 1 in/on diningtable 1"];
  expect((await play(taskOf("cool", "apple", "diningtable"), ...toFridge, ...toTable)).score).toBe(1);
  expect((await play(taskOf("cool", "apple", "diningtable"), ...toFridge, ...toMicrowave, ...toTable)).score).toBe(0);
  expect((await play(taskOf("heat", "apple", "diningtable"), ...toFridge, ...toMicrowave, ...toTable)).score).toBe(1);
  const backToFridge = ["go to fridge 1", "cool apple 1 with fridge 1"];
  const there = [...toFridge, ...toMicrowave, ...backToFridge, ...toTable];
  expect((await play(taskOf("heat", "apple", "diningtable"), ...there)).score).toBe(0);
  expect((await play(taskOf("put", "apple", "diningtable"), ...toFridge, ...toTable)).score).toBe(1);
});

test("two things count in one and the same place", async () => {
  const first = ["go to countertop 1", "take apple 1 from countertop 1", "go to diningtable 1"];
  const second = ["go to fridge 1", "open fridge 1", "take apple 2 from fridge 1", "go to diningtable 1"];
  const task = taskOf("two", "apple", "diningtable");
  const one = await play(task, ...first, "put apple 1 in/on diningtable 1");
  expect([one.stop, one.score]).toEqual(["max-turns", 0]);
  const both = await play(
    task,
    ...[...first, "put apple 1 in/on diningtable 1", ...second, "put apple 2 in diningtable 1"],
  );
  expect([both.stop, both.score]).toEqual(["completed", 1]);
});

test("a thing is looked at where the lamp is, with the lamp on", async () => {
  const take = ["go to countertop 1", "take apple 1 from countertop 1"];
  const task = taskOf("light", "apple", "");
  const lit = await play(
    task,
    ...take,
    "use desklamp 1",
    "go to sidetable 1",
    "take desklamp 1 from sidetable 1",
    "use desklamp 1",
  );
  expect(lit.told.slice(2)).toEqual([
    "Nothing happens.",
    "You arrive at sidetable 1. On the sidetable 1, you see a desklamp 1.",
    "Nothing happens.",
    "You turn on the desklamp 1.",
  ]);
  expect(lit.score).toBe(1);
  const back = await play(task, "go to sidetable 1", "use desklamp 1", ...take);
  expect(back.score).toBe(0);
  expect((await play(task, "go to sidetable 1", "use desklamp 1", ...take, "go to sidetable 1")).score).toBe(1);
});

test.each([
  ["takes a second thing", "take apple 1 from countertop 1", "take apple 1 from countertop 1"],
  ["takes from elsewhere", "take apple 2 from fridge 1"],
  ["puts what it has not", "put mug 1 in/on countertop 1"],
  ["opens what does not open", "open countertop 1"],
  ["opens from afar", "open fridge 1"],
  ["cleans without a basin", "take apple 1 from countertop 1", "clean apple 1 with sinkbasin 1"],
  ["goes where it is", "go to countertop 1"],
  ["goes nowhere", "go to moon 1"],
])("nothing happens to one who %s", async (_, ...commands) => {
  const { told, turns } = await play(taskOf("put", "mug", "diningtable"), "go to countertop 1", ...commands);
  expect(told.at(-1)).toBe("Nothing happens.");
  expect(turns.at(-1)!.info).toEqual({ isValid: false });
});

test("a chore in few letters", async () => {
  const { heard, turns, scores } = await playEpisode(household(), taskOf("heat", "mug", "countertop"), "expert");
  const lines = turns.map(({ text }, i) => `${heard[i]} > ${text}`);
  expect(lines).toEqual([
    "heat mug top\ntop1 cab1 fri1 mic1 sin1 sid1 din1 > g top1",
    "app1 > g cab1",
    "shut > o cab1",
    "mug1 > t mug1",
    "ok > g mic1",
    "shut > h mug1",
    "ok > g top1",
    "app1 > p mug1",
  ]);
  expect(scores.agent.success).toBe(true);
});

test("short names differ wherever long ones do", () => {
  const kinds = new Set(
    Object.values(rooms).flatMap((room) => [...Object.keys(room.places), ...Object.keys(room.things)]),
  );
  expect(new Set(Array.from(kinds, shortName)).size).toBe(kinds.size);
});

test("goals of the test are not trained, and nothing is done before it begins", async () => {
  const env = household();
  const goals = async (split: string) =>
    Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        const { data } = await env.tasks.at(split, i);
        const usual = data.things.every(({ kind, at }) => rooms[data.room].things[kind].includes(at.split(" ")[0]));
        expect(usual).toBe(true);
        if (data.chore !== "light") {
          expect(data.things.some(({ kind, at }) => kind === data.thing && at.startsWith(data.target))).toBe(false);
        }
        return `${data.chore} ${data.thing} ${data.target}`;
      }),
    );
  const [train, held] = [await goals("train"), await goals("test")];
  expect(held.filter((goal) => train.includes(goal))).toEqual([]);
  expect(new Set(train.map((goal) => goal.split(" ")[0]))).toEqual(new Set(chores));
});

describe.each(["tags", "compact"] as const)("in %s style", (style) => {
  test.each(["explorer", "knowing"] as const)("the %s does every chore", async (expert) => {
    const env = household({ style, expert });
    for (const split of env.tasks.splits) {
      for (let i = 0; i < 60; i++) {
        const { scores, turns } = await playEpisode(env, await env.tasks.at(split, i), "expert");
        expect(scores.agent.success).toBe(true);
        expect(turns.every(({ info }) => info?.isValid === true)).toBe(true);
        if (style === "compact") expect(Math.max(...turns.map(({ text }) => text.length))).toBeLessThan(12);
      }
    }
  });

  test("what is listed can be done, and the explorer finishes from wherever chance led", async () => {
    const env = household({ style, turns: 120, tellsCommands: true });
    const rng = createRng(3);
    for (let i = 0; i < 40; i++) {
      const episode = new Episode(env, await env.tasks.at("train", i), { signal: new AbortController().signal });
      let next = await episode.start();
      while ("role" in next) {
        const texts = episode.possibleTexts();
        expect(new Set(texts).size).toBe(texts.length);
        next = await episode.step(episode.turns.length < 30 ? texts[rng.integer(texts.length)] : episode.expertSays()!);
        expect(episode.turns.at(-1)!.info).toEqual({ isValid: true });
      }
      expect((await episode.finish(next)).scores.agent.success).toBe(true);
    }
  });

  test("the same words give the same episode, however hostile", async () => {
    const env = household({ style });
    const hostile = ["", "\0\uD800", "go to ".repeat(9999), "g __proto__", "p", "put in on", " GO  TO ", "🀄"];
    const play = async () => playEpisode(env, await env.tasks.at("test", 1), hostile);
    const played = await play();
    expect(played).toEqual(await play());
    expect(played.failure).toBeUndefined();
    expect(
      played.turns.every(({ observation }) => observation === (style === "tags" ? "Nothing happens." : "no")),
    ).toBe(true);
  });
});

test("options that make no household are refused in words", () => {
  expect(() => household({ turns: 0 })).toThrow(/turns = 0/);
  expect(() => household({ chores: [] })).toThrow(/chores = 0/);
});
