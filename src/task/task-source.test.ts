import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generated, jsonl, listed, mixed, seedOf, type TaskSource } from "./index.ts";

const numbers = generated((rng) => rng.integer(1000));
const words = listed(
  ["a", "b", "c", "d"].map((word) => ({ word })),
  { testShare: 0.5, name: "words" },
);

const sources: [string, TaskSource][] = [
  ["generated", numbers],
  ["listed", words],
  ["mixed", mixed({ numbers: { source: numbers as TaskSource, weight: 2 }, words: { source: words, weight: 1 } })],
];

describe.each(sources)("tasks that are %s", (_, source) => {
  test("the same index gives the same task", async () => {
    for (const index of [0, 1, 17]) {
      expect(await source.at("train", index)).toEqual(await source.at("train", index));
    }
  });

  test("seeds differ from task to task, also when a list starts over", async () => {
    const tasks = await Promise.all(Array.from({ length: 200 }, (_, index) => source.at("train", index)));
    expect(new Set(tasks.map(({ seed }) => seed)).size).toBe(200);
  });

  test("training and test tasks have different names", async () => {
    expect((await source.at("train", 0)).id).not.toBe((await source.at("test", 0)).id);
  });
});

test("with a key, no test task is a training task", async () => {
  const source = generated((rng) => rng.integer(40), { key: String });
  const draw = async (split: string) =>
    new Set((await Promise.all(Array.from({ length: 400 }, (_, i) => source.at(split, i)))).map(({ data }) => data));
  const [train, held] = [await draw("train"), await draw("test")];
  expect(train.size + held.size).toBe(40);
  expect([...train].filter((data) => held.has(data))).toEqual([]);
});

test("too few keys to divide are refused in words", () => {
  const source = generated(() => 1, { key: String });
  const splits = ["train", "test"].map((split) => {
    try {
      return source.at(split, 0) !== undefined;
    } catch (error) {
      return String(error);
    }
  });
  expect(splits.find((result) => typeof result === "string")).toContain("no-task");
});

test("a row keeps its side when others are added", () => {
  const rows = Array.from({ length: 50 }, (_, i) => ({ i }));
  const inTest = (count: number) => {
    const source = listed(rows.slice(0, count), { testShare: 0.3 });
    const data = Array.from({ length: source.size("test") }, (_, i) => source.at("test", i));
    return data.map((task) => ("data" in task ? (task.data as { i: number }).i : -1)).filter((i) => i < 20);
  };
  expect(inTest(50)).toEqual(inTest(20));
});

test("proportions of a mixture are kept, and each task says where it is from", async () => {
  const source = mixed({ a: { source: numbers, weight: 3 }, b: { source: numbers, weight: 1 } });
  const domains = await Promise.all(Array.from({ length: 400 }, async (_, i) => (await source.at("train", i)).domain));
  expect(domains.filter((domain) => domain === "a")).toHaveLength(300);
  expect(domains.slice(0, 4).sort()).toEqual(["a", "a", "a", "b"]);
});

test("a bad line is named", () => {
  const file = join(mkdtempSync(join(tmpdir(), "ludus-")), "tasks.jsonl");
  writeFileSync(file, '{"q": 1}\n\n{"q": }\n');
  expect(() => jsonl(file)).toThrow(/line 3/);
  expect(() => jsonl("/nowhere/tasks.jsonl")).toThrow(/no-tasks-file/);
});

test("rows of a file are what `parse` makes of them", async () => {
  const file = join(mkdtempSync(join(tmpdir(), "ludus-")), "tasks.jsonl");
  writeFileSync(file, "1\n2\n");
  const doubled = jsonl({ train: file }, { parse: (row) => 2 * Number(row) });
  expect(await Promise.all([0, 1].map(async (index) => (await doubled.at("train", index)).data))).toEqual([2, 4]);
});

test("an unknown split is named, with those there are", () => {
  expect(() => numbers.at("validation", 0)).toThrow(/train, test/);
  expect(() => words.at("validation", 0)).toThrow(/train \(/);
});

test("seeds that are far apart give different seeds", () => {
  const seeds = [5, 5 + 2 ** 20, 5 + 2 ** 32, -5].map((seed) => seedOf(seed, "turn", 0));
  expect(new Set(seeds).size).toBe(4);
});
