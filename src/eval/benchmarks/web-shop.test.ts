import { expect, test } from "vitest";
import type { ChatRequest } from "./benchmark.ts";
import { pythonShuffle } from "./python-shuffle.ts";
import { arrayElements } from "./read-array.ts";
import { publishedFiles } from "./testing/published-files.ts";
import { webShop } from "./web-shop.ts";

const context = { signal: new AbortController().signal };

async function shop(...said: readonly string[]) {
  const [task] = await webShop.load(publishedFiles("webshop"));
  const heard: string[] = [];
  let turn = 0;
  const score = await task!.attempt(async ({ messages }: ChatRequest) => {
    heard.push(String(messages.at(-1)!.content));
    return { text: said[turn++] ?? "I wait.", calls: [] };
  }, context);
  return { ...score, heard };
}

test("goals: attributes, options, and a price of the next four tens", async () => {
  const tasks = await webShop.load(publishedFiles("webshop"));
  expect(tasks).toMatchObject([{ id: "webshop/0", category: "fashion" }]);
  expect(tasks[0]!.text).toMatch(/^i want .* size large, and price lower than (?:30|40|50)\.00 dollars$/);
});

test.each([
  [
    "everything",
    ["search[shirt]", "Fine.\nclick[b000000001]", "click[navy blue]", "click[large]", "click[buy now]"],
    1,
  ],
  ["another size", ["search[shirt]", "click[b000000001]", "click[navy blue]", "click[small]", "click[buy now]"], 4 / 5],
  ["no options", ["search[shirt]", "click[b000000001]", "click[buy now]"], 3 / 5],
  ["another product", ["search[lamp]", "click[b000000002]", "click[buy now]"], 0],
  ["labels that are not there", ["click[buy now]", "search[]", "search[shirt]", "click[b9]"], 0],
] as const)("%s", async (_, said, score) => {
  const got = await shop(...said);
  expect(got.metrics!.score).toBeCloseTo(score, 12);
  expect(got.success).toBe(score === 1);
});

test("what is read: pages, and what can be clicked; a search from any page", async () => {
  const { heard } = await shop("search[shirt]", "click[b000000001]", "search[lamp]", "click[b000000002]");
  expect(heard[0]).toMatch(/^WebShop \[SEP\] Instruction: .*\n\nActions: search\[words\]$/s);
  expect(heard[1]).toContain("Page 1 (Total results: 1) [SEP] B000000001");
  expect(heard[2]).toContain("click[navy blue], click[red], click[small], click[large]");
  expect(heard[3]).toContain("Desk Lamp");
  expect(heard).toHaveLength(30);
});

test("shuffles as Python's random does", () => {
  expect(pythonShuffle(10, 233)).toEqual([5, 9, 0, 1, 4, 7, 6, 3, 8, 2]);
  expect(pythonShuffle(1000, 233).slice(0, 10)).toEqual([127, 320, 431, 331, 760, 454, 129, 769, 485, 270]);
});

test("files of another form", async () => {
  const load = (more: Readonly<Record<string, string>>) => webShop.load(publishedFiles("webshop", more));
  const items = "items_shuffle_1000.json";
  await expect(load({ [items]: '[{"asin": 4}]' })).rejects.toThrow(
    /^bad-benchmark-data: .*items_shuffle_1000.json, record 1/,
  );
  await expect(load({ [items]: "[{]" })).rejects.toThrow(/^bad-benchmark-data: .*/);
  await expect(load({ [items]: '{"a": 1}' })).rejects.toThrow(/one whole JSON array/);
  await expect(load({ [items]: '[{"a": 1}' })).rejects.toThrow(/one whole JSON array/);
  await expect(load({ [items]: "<html>" })).rejects.toThrow(/one whole JSON array/);
  await expect(load({ "items_human_ins.json": "{" })).rejects.toThrow(/items_human_ins.json: /);
  await expect(load({ "items_human_ins.json": "{}" })).rejects.toThrow(/without a goal/);
});

test("elements of an array, wherever the file is cut", async () => {
  const values = [{ a: '[{"\\"' }, [1, [2]], "x,]", { b: "é".repeat(2_000_000) }, 5];
  const folder = publishedFiles("none", { "a.json": JSON.stringify(values, undefined, 1) });
  const read: unknown[] = [];
  for await (const text of arrayElements(`${folder}/a.json`)) read.push(JSON.parse(text));
  expect(read).toEqual(values);
});
