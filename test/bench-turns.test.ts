import { expect, test } from "vitest";
import type { TimedRun } from "../bench/child/protocol.ts";
import type { Measured } from "../bench/engine/measure.ts";
import { summarise } from "../bench/engine/results.ts";
import { stackedBars } from "../bench/plot/bars.ts";
import { parseRoundsOptions } from "../bench/rounds-options.ts";
import { countTable, stageTable, turnsMarkdown, turnsPlot } from "../bench/turns/report.ts";
import { checkSameWork, summariseSteps, turnsProcessorRatios, turnsRatios } from "../bench/turns/results.ts";
import { makeSearchWorld, searchEnv, searchScore } from "../bench/turns/search-env.ts";
import { checkEnv } from "../src/env/check-env.ts";
import { createRng } from "../src/random.ts";
import { generated } from "../src/task/generated.ts";

const step = (seconds: number, counts: Record<string, number>, stages: Record<string, number> = {}): TimedRun => ({
  seconds,
  tokens: counts.sampled,
  counts,
  stages,
  processorSeconds: 2 * seconds,
});

function measured(
  comparison: Measured["comparison"],
  role: Measured["implementation"]["role"],
  name: string,
  runs: TimedRun[],
): Measured {
  const implementation = { name, role, variant: "default" as const };
  return { comparison, implementation, versions: {}, runs: runs.map((run, i) => ({ round: i + 1, ...run })) };
}

const work = { rollouts: 64, turns: 256, sampled: 9000 };
const fourTurns = "grpo step 64x4 turns";
const oneTurn = "grpo step 64x(32+≤128)";
const all: Measured[] = [
  measured(
    fourTurns,
    "ludus",
    "Ludus",
    [1, 2, 1].map((seconds) => step(seconds, work, { update: seconds / 2 })),
  ),
  measured(
    fourTurns,
    "baseline",
    "TRL",
    [8, 9, 10].map((seconds) => step(seconds, work, { update: 3 })),
  ),
  measured(
    fourTurns,
    "baseline",
    "TRL static",
    [5, 6, 6].map((seconds) => step(seconds, work, { update: 4 })),
  ),
  measured(oneTurn, "ludus", "Ludus", [step(1, work)]),
  measured(oneTurn, "baseline", "TRL", [step(3, work)]),
];

test("a ratio is taken against the fastest of the baselines, from medians", () => {
  const summary = summarise(all);
  expect(turnsRatios(summary)).toEqual({ turns_vs_trl: 6, grpo_step_vs_trl: 3 });
  expect(turnsProcessorRatios(all, summary)).toEqual({ turns_vs_trl: 6, grpo_step_vs_trl: 3 });
  const untold = all.map((one) => ({ ...one, runs: one.runs.map(({ processorSeconds: _, ...run }) => run) }));
  expect(turnsProcessorRatios(untold, summary)).toBeUndefined();
});

test("counts and stages of a step are medians, of the steps with several turns alone", () => {
  const steps = summariseSteps(all);
  expect(steps.map(({ name }) => name)).toEqual(["Ludus", "TRL", "TRL static"]);
  expect(steps[0]).toEqual({ name: "Ludus", counts: work, stages: { update: 0.5 }, processorSeconds: 2 });
  expect(stageTable(steps)).toEqual([
    ["a step", "Ludus", "TRL", "TRL static"],
    ["update", "0.500", "3.00", "4.00"],
    ["processor time, all threads", "2.00", "18.0", "12.0"],
  ]);
  expect(countTable(steps)[4]).toEqual(["tokens sampled", "9,000", "9,000", "9,000"]);
});

test("the page has both ratios and all tables, the plot a bar for everyone", () => {
  const about = {
    date: "2026-01-02T03:04:05Z",
    command: "npm run bench -- turns",
    commit: "abc",
    processor: "p",
    cores: 2,
    memoryBytes: 2 ** 34,
    system: "linux",
    loadBefore: 0,
  };
  const summary = summarise(all);
  const steps = summariseSteps(all);
  const ratios = turnsRatios(summary);
  const common = { about, versions: { trl: "1" }, parameters: 9e5, rounds: 3, coresOfOthers: 0 };
  const results = { ...common, ratios, processorRatios: undefined, summary, steps, measured: all };
  const page = turnsMarkdown(results);
  expect(page).toContain("| four turns, a call of a tool in each | 6.00x | – |");
  expect(page).not.toContain("busy");
  expect(turnsMarkdown({ ...results, coresOfOthers: 1 })).toContain(
    "**The machine was busy: other programs kept 1.0 cores.",
  );
  expect(page).toContain("| tokens sampled | 9,000 | 9,000 | 9,000 |");
  expect(page).toContain("| update | 0.500 | 3.00 | 4.00 |");
  expect(turnsPlot(results).match(/class="name"/g)).toHaveLength(3);
});

test("sides that did not do the same are refused", () => {
  const steps = (sampled: number) => [
    { name: "Ludus", counts: work, stages: {}, processorSeconds: undefined },
    { name: "TRL", counts: { ...work, sampled }, stages: {}, processorSeconds: undefined },
  ];
  expect(() => checkSameWork(steps(9300))).not.toThrow();
  expect(() => checkSameWork(steps(8000))).toThrow(/8000 sampled in a step of TRL.*9000, those of Ludus/);
  expect(() => checkSameWork([steps(9000)[0], { ...steps(9000)[1], counts: {} }])).toThrow(/0 rollouts/);
});

test("the options of a benchmark in rounds", () => {
  expect(parseRoundsOptions("turns", ["--rounds", "1", "--json"])).toEqual({ rounds: 1, json: true });
  expect(parseRoundsOptions("turns", [])).toEqual({ rounds: 5, json: false });
  expect(() => parseRoundsOptions("turns", ["--rounds", "0"])).toThrow(/--rounds 0.*npm run bench -- turns --help/);
  expect(() => parseRoundsOptions("turns", ["--round", "2"])).toThrow(/--round 2/);
});

test("the search environment keeps its promises, and its expert calls the tool in every turn", async () => {
  const world = makeSearchWorld(4);
  const tasks = generated((rng) => world.drawTask(rng), { name: "search", seed: 0, key: ({ question }) => question });
  const env = searchEnv({ tasks, facts: world.facts, turns: 4, turnTokens: 64 });
  await checkEnv(env, { tasks: 2 });
  const [played] = await env.sampleTexts(1, 1);
  expect(played.filter((text) => text.includes("<tool_call>"))).toHaveLength(4);
});

test("a question asks for what its queries find, one after the other", () => {
  const { facts, drawTask } = makeSearchWorld(4);
  const { question, queries } = drawTask(createRng(1));
  const relations = queries.map((query) => query.split(" ")[1]);
  expect(question).toBe(`${queries[0].split(" ")[0]} ${relations.join(" ")}?`);
  for (const [i, query] of queries.slice(1).entries())
    expect(facts[queries[i]].split(" ")[2]).toBe(query.split(" ")[0]);
  expect(searchScore({ question, queries }, queries).found).toBe(4);
  expect(searchScore({ question, queries }, ["ab", "ab"])).toEqual({ found: 0, letters: 0.02 });
});

test("bars begin where the part before them ends, and text in them is safe", () => {
  const svg = stackedBars({
    title: "a < b",
    description: "",
    bars: [
      { name: "one", parts: { x: 1, y: 3 }, label: "4 s" },
      { name: "two", parts: { x: 2 }, label: "2 s" },
    ],
  });
  expect(svg).toContain("a &lt; b");
  const rects = [...svg.matchAll(/x="([\d.]+)" y="\d+" width="([\d.]+)" height="28"/g)].map((m) =>
    m.slice(1).map(Number),
  );
  expect(rects).toEqual([
    [230, 152.5],
    [382.5, 457.5],
    [230, 305],
  ]);
});
