import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { Env } from "../env.ts";
import type { AnalystLevel } from "./analyst-tasks.ts";
import { analystSql } from "./analyst-tasks.ts";
import { type DataAnalystState, dataAnalyst } from "./data-analyst.ts";
import { playEpisode } from "./testing/play-episode.ts";

const play = async (says: readonly string[] | "expert", options: Parameters<typeof dataAnalyst>[0] = {}, index = 0) => {
  // a loaded machine must not make a query too slow
  const env = dataAnalyst({ queryMs: 20_000, ...options });
  return playEpisode(env, await env.tasks.at("train", index), says);
};
const outcomeOf = ({ scores }: Awaited<ReturnType<typeof play>>) => scores.agent.parts.outcome;
const goldOf = async (options: Parameters<typeof dataAnalyst>[0], index = 0) =>
  analystSql((await dataAnalyst(options).tasks.at("train", index)).data);

describe.each([1, 2, 3, 4, 5] as const)("level %i", (level: AnalystLevel) => {
  test.each(["compact", "tags"] as const)("is solved by its expert in %s style", async (style) => {
    for (let index = 0; index < 8; index++) {
      expect(outcomeOf(await play("expert", { levels: [level], style }, index))).toBe(1);
    }
  });
});

test("two joins are a split of their own", async () => {
  const env: Env<{ readonly level: number }, DataAnalystState> = dataAnalyst();
  const levels = await Promise.all([0, 1, 2, 3].map(async (i) => (await env.tasks.at("two-joins", i)).data.level));
  expect(levels).toEqual([5, 5, 5, 5]);
});

test("a question of the test is never one of training", async () => {
  const { tasks } = dataAnalyst();
  const questions = async (split: string) =>
    Promise.all(
      Array.from({ length: 200 }, async (_, i) => JSON.stringify({ ...(await tasks.at(split, i)).data, seed: 0 })),
    );
  const trained = new Set(await questions("train"));
  expect((await questions("test")).filter((question) => trained.has(question))).toEqual([]);
});

test("another spelling of the query is right; a wrong one and no answer are not", async () => {
  const options = { levels: [2] as const };
  const gold = await goldOf(options);
  expect(outcomeOf(await play([`submit with x as (${gold}) select * from x`], options))).toBe(1);
  expect(outcomeOf(await play(["submit select 1"], options))).toBe(0);
  expect(outcomeOf(await play(["=42"], options))).toBe(0);
  expect(outcomeOf(await play([`query ${gold}`], options))).toBe(0);
});

test("rows that were copied from a result are wrong: the query has to hold on other data", async () => {
  const options = { levels: [2] as const };
  const { heard } = await play("expert", options);
  const rows = heard[1].split("\n").map(
    (row) =>
      `(${row
        .split(" ")
        .map((cell) => `'${cell}'`)
        .join(",")})`,
  );
  expect(outcomeOf(await play([`submit values ${rows.join(",").replaceAll(/'(\d+)'/g, "$1")}`], options))).toBe(0);
});

test("a chart is its mark, its columns and its rows in order", async () => {
  const options = { levels: [4] as const };
  const env = dataAnalyst(options);
  const task = await env.tasks.at("train", 0);
  const { turns } = await playEpisode(env, task, "expert");
  const said = turns.at(-1)!.text;
  expect(outcomeOf(await play([said], options))).toBe(1);
  const other = ["bar", "line", "pie"].find((mark) => mark !== task.data.chart);
  expect(outcomeOf(await play([said.replace(String(task.data.chart), String(other))], options))).toBe(0);
  expect(outcomeOf(await play([said.replace("desc", "asc")], options))).toBe(0);
  expect(outcomeOf(await play([`submit ${analystSql(task.data)}`], options))).toBe(0);
  const { heard } = await play(["chart bar height y select 1 y", "=x"], options);
  expect(heard[1]).toContain("no column height among y");
});

test.each([
  ["attach '/tmp/ludus-analyst.db' as a", "not SELECT"],
  ["pragma writable_schema=1", "not SELECT"],
  ["vacuum into '/tmp/ludus-analyst.db'", "not SELECT"],
  ["with x as (select 1) delete from sales", "readonly"],
  ["with recursive c(n) as (select 1 union all select n+1 from c) select max(n) from c", "took longer than 200 ms"],
  ["select a.n from sales a, sales b, sales c", "more than 200 rows"],
  ["select hex(zeroblob(90000000))", "too big|memory|took longer"],
])("%s is an error to go on from, and costs its episode alone", async (sql, problem) => {
  const options = { levels: [1] as const, queryMs: problem.includes("200 ms") ? 200 : 20_000 };
  const gold = await goldOf(options);
  const [hostile, other] = await Promise.all([
    play([`query ${sql}`, `submit ${sql}`, "=x"], options),
    play("expert", { levels: [1] }, 3),
  ]);
  expect(hostile.heard[1]).toMatch(new RegExp(problem));
  expect(hostile).toMatchObject({ stop: "completed", scores: { agent: { success: false } } });
  expect(outcomeOf(other)).toBe(1);
  expect(outcomeOf(await play([`query ${sql}`, `submit ${gold}`], { ...options, queryMs: 2000 }))).toBe(1);
  expect(existsSync("/tmp/ludus-analyst.db")).toBe(false);
});

test("options that are none are refused", () => {
  expect(() => dataAnalyst({ levels: [] })).toThrow(/^bad-option: got levels = \[\]/);
  expect(() => dataAnalyst({ sales: 0 })).toThrow(/sales = 0/);
  // @ts-expect-error misspelt
  expect(() => dataAnalyst({ level: 1 })).toThrow(/did you mean "levels"/);
});
