import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import type { CallRecord } from "../schema/turn.ts";
import { citesSources } from "./cites-sources.ts";
import { inLanguage, sameLanguage } from "./in-language.ts";
import { keepsPolicy } from "./keeps-policy.ts";
import { matchesSchema } from "./matches-schema.ts";
import { rewardContract } from "./reward.contract.ts";
import type { Reward } from "./reward.ts";
import { sameDate } from "./same-date.ts";
import { sameMoney } from "./same-money.ts";
import { sameQuantity } from "./same-quantity.ts";
import { sqlResult } from "./sql-result.ts";
import { fakeCall, fakeEpisode } from "./testing/fake-episode.ts";

// Answers that are right, wrong and hostile: fixtures/verifiers, one file for each. `{ "repeat": "x" }` is 20,000 characters of it.
// An answer to a policy is an episode: a list of turns.

type Text = string | { readonly repeat: string };
type FixtureCall = readonly [name: string, args?: Readonly<Record<string, unknown>>, outcome?: CallRecord["outcome"]];
interface FixtureTurn {
  readonly text?: Text;
  readonly calls?: readonly FixtureCall[];
  readonly observation?: string;
}
type Answer = Text | readonly FixtureTurn[];
interface Fixture {
  readonly gold: never;
  readonly database?: string;
  readonly right: readonly Answer[];
  readonly wrong: readonly Answer[];
  readonly hostile: readonly Answer[];
}

const makers: Readonly<Record<string, (fixture: Fixture) => Reward>> = {
  "matches-schema": ({ gold }) => matchesSchema(() => gold),
  "sql-result": ({ gold, database = "" }) => sqlResult({ database: () => database, gold: () => gold }),
  "in-language": ({ gold }) => inLanguage(() => gold),
  "same-language": ({ gold }) => sameLanguage(() => gold),
  "same-quantity": ({ gold }) => sameQuantity(() => gold),
  "same-date": ({ gold }) => sameDate(() => gold),
  "same-money": ({ gold }) => sameMoney(() => gold),
  "cites-sources": ({ gold }) => citesSources(() => gold),
  "keeps-policy": ({ gold }) => keepsPolicy(() => gold),
};

const folder = new URL("../../fixtures/verifiers/", import.meta.url);
const fixtureOf = (name: string): Fixture => JSON.parse(readFileSync(new URL(`${name}.json`, folder), "utf8"));
const textOf = (answer: Text) =>
  typeof answer === "string" ? answer : answer.repeat.repeat(Math.ceil(20_000 / answer.repeat.length));
const isEpisode = (answer: Answer): answer is readonly FixtureTurn[] => Array.isArray(answer);
function episodeOf(answer: Answer, asked: "answer" | "turn") {
  if (isEpisode(answer)) return fakeEpisode({}, answer.map(turnOf));
  return asked === "answer" ? fakeEpisode({}, [], { answer: textOf(answer) }) : fakeEpisode({}, [textOf(answer)]);
}
function turnOf({ text = "", calls = [], observation = "" }: FixtureTurn) {
  const made = calls.map(([name, args = {}, outcome = "ok"]) => fakeCall(name, args, outcome));
  return { text: textOf(text), calls: made, observation };
}

/** `test.each` takes a list for the arguments of a test. */
const inRows = (answers: readonly Answer[]) => answers.map((answer): [Answer] => [answer]);

test("every fixture has its verifier", () => {
  expect(readdirSync(folder).sort()).toEqual(
    Object.keys(makers)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

describe.each(Object.keys(makers))("%s", (name) => {
  const fixture = fixtureOf(name);
  const reward = makers[name](fixture);
  const totalOf = async (answer: Answer) => (await reward(episodeOf(answer, "answer"))).total;

  test.each(inRows(fixture.right))("%j is right", async (answer) => expect(await totalOf(answer)).toBe(1));
  test.each(inRows(fixture.wrong))("%j is wrong", async (answer) => expect(await totalOf(answer)).toBe(0));
  test.each(inRows(fixture.hostile))("%j is hostile, and worth nothing", async (answer) =>
    expect(await totalOf(answer)).toBe(0),
  );
});

for (const [name, make] of Object.entries(makers)) {
  const answers = fixtureOf(name);
  const episodes = [answers.right[0], answers.wrong[0]].map((answer) => episodeOf(answer, "turn"));
  rewardContract(name, () => make(answers), episodes);
}

test("queries leave nothing behind", () => {
  expect(existsSync("/tmp/ludus-stolen.db")).toBe(false);
});

test("what is wrong with a task is an error, not a wrong answer", async () => {
  const episode = fakeEpisode({}, ["x"]);
  await expect(async () => matchesSchema(() => ({ type: "strin" }))(episode)).rejects.toThrow(/^bad-schema: .*strin/);
  await expect(async () => inLanguage(() => "(a)\\1")(episode)).rejects.toThrow(/^bad-language/);
  await expect(async () => sameQuantity(() => "5 parsecs")(episode)).rejects.toThrow(/^bad-task/);
  await expect(async () => sameDate(() => "1 May 2024")(episode)).rejects.toThrow(/^bad-task/);
  await expect(async () => sameMoney(() => "5")(episode)).rejects.toThrow(/^bad-task/);
  const selected = { ...episode, answer: "SELECT 1" };
  const database = "CREATE TABLE t(a)";
  const missing = sqlResult({ database: () => database, gold: () => "SELECT b FROM t" });
  await expect(async () => missing(selected)).rejects.toThrow(/^bad-task: .*no such column: b/);
  const broken = sqlResult({ database: () => "CREATE TABL", gold: () => "SELECT 1" });
  await expect(async () => broken(selected)).rejects.toThrow(/^sql-failed: .*syntax error/);
});

test("a misspelt option is refused", () => {
  // @ts-expect-error the option is called tolerance
  expect(() => sameQuantity(() => "5 km", { tolerence: 1 })).toThrow(/did you mean "tolerance"/);
  // @ts-expect-error there are two orders
  expect(() => sameDate(() => "2024-01-02", { order: "day" })).toThrow(/day-first/);
});

test("options: how near, and which number is the day", async () => {
  const near = sameQuantity(() => "100 °C", { tolerance: 0.01 });
  expect(await near(fakeEpisode({}, [], { answer: "212 °F" }))).toMatchObject({ success: true });
  expect(await near(fakeEpisode({}, [], { answer: "110 °C" }))).toMatchObject({ success: false });
  const totals = (order?: "day-first" | "month-first") =>
    sameDate(() => "2024-04-03", order === undefined ? {} : { order })(fakeEpisode({}, [], { answer: "3/4/2024" }));
  expect(await totals()).toMatchObject({ success: false });
  expect(await totals("day-first")).toMatchObject({ success: true });
  expect(await totals("month-first")).toMatchObject({ success: false });
});

test("rows in order, where the task asks for it", async () => {
  const database = () => "CREATE TABLE t(a); INSERT INTO t VALUES (2), (1)";
  const reward = sqlResult({ database, gold: () => "SELECT a FROM t ORDER BY a", ordered: () => true });
  expect(await reward(fakeEpisode({}, ["SELECT a FROM t ORDER BY a"]))).toMatchObject({ success: true });
  expect(await reward(fakeEpisode({}, ["SELECT a FROM t"]))).toMatchObject({ success: false });
});

test("keeps-policy: arguments by an expression, and a rule that is none", async () => {
  const turn = (order: string) => ({ text: "", calls: [fakeCall("cancel", { order })] });
  const reward = keepsPolicy(() => [{ never: { tool: "cancel", where: { order: /^#/ } } }]);
  expect(await reward(fakeEpisode({}, [turn("#1")]))).toMatchObject({ success: false });
  expect(await reward(fakeEpisode({}, [turn("1")]))).toMatchObject({ success: true });
  // @ts-expect-error misspelt
  const misspelt = keepsPolicy(() => [{ nevr: { tool: "x" } }]);
  await expect(async () => misspelt(fakeEpisode({}, ["x"]))).rejects.toThrow(/^bad-policy: .*nevr/);
});
