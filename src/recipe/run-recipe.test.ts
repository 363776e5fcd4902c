import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { keyDoor } from "../env/environments/key-door.ts";
import { sums } from "../env/environments/sums.ts";
import { fromScratch, grpo } from "../index.ts";
import { appendArm, readArms, trialOf } from "./arm-file.ts";
import type { ArmRecord, Claim } from "./claim.ts";
import type { Recipe } from "./recipe.ts";
import { resultTable, shortResult, verdictText } from "./recipe-result.ts";
import { type RunRecipeOptions, runRecipe } from "./run-recipe.ts";

const more: Claim = {
  statement: "More is more.",
  source: "here",
  method: "more",
  baseline: "less",
  measure: "score",
  want: "more",
  smallest: 0.1,
};

// what a seed "measures" is its number
const counting: Recipe = {
  system: "counting",
  title: "Counting",
  measures: { score: "score", only: "only" },
  claims: [more, { ...more, statement: "More is less.", want: "less" }],
  async run(lab) {
    await lab.arm("less", async (arm) => arm.measure({ score: lab.seed / 100 }));
    await lab.arm("more", async (arm) => {
      arm.measure({ score: 1 + lab.seed / 50, only: 7 });
      arm.curve("reward", [0, lab.seed]);
    });
  },
};

test("every arm of every seed is measured, and claims are judged by their differences", async () => {
  const result = await runRecipe(counting, { seeds: 5, firstSeed: 5 });
  expect(result.records.map(({ seed, arm }) => `${seed} ${arm}`)).toHaveLength(10);
  expect(result.verdicts.map(({ holds }) => holds)).toEqual([true, false]);
  expect(result.records[1].curves).toEqual({ reward: [0, 5] });
  const short = shortResult(result);
  expect(short).toMatchObject({ system: "counting", held: 1, of: 2, seeds: 5 });
  expect(short.claims[0]).toMatchObject({ claim: "More is more.", effect: 1.07, holds: true });
  expect(short.claims[1]).toMatchObject({ holds: false, because: "the difference is in the other direction" });
  expect(resultTable(result)).toEqual([
    ["", "score", "only"],
    ["less", "0.07 [0.05, 0.09]", ""],
    ["more", "1.14 [1.10, 1.18]", "7.00 [7.00, 7.00]"],
  ]);
  expect(verdictText(result.verdicts[1])).toMatch(
    /^More is less\. more − less, score: 1\.07 \[1\.0\d, 1\.\d\d\]: does not hold, the difference is in the other direction$/,
  );
});

test("what else a training came to is kept as an arm of its own, before the arm itself", async () => {
  const twofold: Recipe = {
    ...counting,
    async run(lab) {
      await lab.arm("more", async (arm) => {
        arm.also("less", { score: 0.5 });
        arm.measure({ score: 1 });
      });
    },
  };
  const { records, verdicts } = await runRecipe(twofold, { seeds: 5 });
  expect(records.slice(0, 2)).toMatchObject([
    { seed: 0, arm: "less", measures: { score: 0.5 }, seconds: 0 },
    { seed: 0, arm: "more", measures: { score: 1 } },
  ]);
  expect(verdicts[0]).toMatchObject({ effect: 0.5, seeds: 5 });
});

test("arms that no claim compares can be left out, and are made when all are asked for", async () => {
  const wider: Recipe = {
    ...counting,
    async run(lab) {
      if (!lab.isClaimedOnly) await lab.arm("a sweep", async (arm) => arm.measure({ score: 0 }));
      await lab.arm("an ablation", async (arm) => arm.measure({ score: 0 }));
      await counting.run(lab);
    },
  };
  const wholeSeeds: number[] = [];
  const onWholeSeed = (seed: number) => wholeSeeds.push(seed);
  const claimed = await runRecipe(wider, { seeds: 1, isClaimedOnly: true, onWholeSeed });
  expect(claimed.records.map(({ arm }) => arm)).toEqual(["less", "more"]);
  expect(wholeSeeds).toEqual([]);
  const isNotRun: Recipe = { ...wider, run: async () => expect.unreachable("a seed whose claimed arms are kept") };
  const again = await runRecipe(isNotRun, {
    seeds: 1,
    isClaimedOnly: true,
    kept: { arms: claimed.records, wholeSeeds },
  });
  expect(again.records).toEqual(claimed.records);
  const all = await runRecipe(wider, { seeds: 1, kept: { arms: claimed.records, wholeSeeds }, onWholeSeed });
  expect(all.records.map(({ arm }) => arm)).toEqual(["less", "more", "a sweep", "an ablation"]);
  expect(wholeSeeds).toEqual([0]);
});

test("few seeds prove nothing", async () => {
  const result = await runRecipe(counting, { seeds: 1 });
  expect(result.verdicts[0]).toMatchObject({ holds: false, because: "1 of at least 5 seeds" });
  expect(JSON.parse(JSON.stringify(shortResult(result))).claims[0].low).toBeNull();
});

test("no seed is begun that would end after the budget", async () => {
  const slow: Recipe = {
    ...counting,
    run: async (lab) => {
      await counting.run(lab);
      await new Promise((done) => setTimeout(done, 30));
    },
  };
  const { records } = await runRecipe(slow, { seeds: 50, budgetSeconds: 0.1 });
  expect(records.length).toBeGreaterThanOrEqual(2);
  expect(records.length).toBeLessThan(10);
});

test("a claim about what was not measured is named", async () => {
  const wrong = { ...counting, claims: [{ ...more, measure: "turns" }] };
  await expect(runRecipe(wrong, { seeds: 1 })).rejects.toThrow('a claim of counting about "turns"');
});

describe("shards", () => {
  const madeBy = async (part: number, of: number) =>
    (await runRecipe(counting, { seeds: 3, shard: { part, of } })).records.map(({ seed, arm }) => `${seed} ${arm}`);

  test.each([1, 2, 3, 5, 6, 9])("in %i parts make every arm once", async (of) => {
    const parts = await Promise.all(Array.from({ length: of }, (_, i) => madeBy(i + 1, of)));
    expect(parts.flat().sort()).toEqual(["0 less", "0 more", "1 less", "1 more", "2 less", "2 more"]);
  });

  test("are by seed while there are enough seeds", async () => {
    expect(await madeBy(2, 3)).toEqual(["1 less", "1 more"]);
  });
});

describe("a file of arms", () => {
  const folder = mkdtempSync(join(tmpdir(), "ludus-arms-"));
  const file = join(folder, "deep", "counting.jsonl");
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const keeping = {
    onArm: (record: ArmRecord) => appendArm(file, record),
    onWholeSeed: (seed: number) => appendArm(file, { seed, whole: true as const }),
  };

  test("lets a run go on where it was killed, without an arm made twice", async () => {
    const made: string[] = [];
    const dying: Recipe = {
      ...counting,
      async run(lab) {
        await lab.arm("less", async (arm) => {
          made.push(`${lab.seed} less`);
          arm.measure({ score: 0 });
        });
        if (lab.seed === 1 && made.length < 4) throw new Error("killed");
        await lab.arm("more", async (arm) => {
          made.push(`${lab.seed} more`);
          arm.measure({ score: 1 });
        });
      },
    };
    await expect(runRecipe(dying, { seeds: 3, ...keeping })).rejects.toThrow("killed");
    expect(readArms(file)).toMatchObject({ wholeSeeds: [0] });
    made.push("gone on");
    const { records } = await runRecipe(dying, { seeds: 3, kept: readArms(file), ...keeping });
    expect(made).toEqual(["0 less", "0 more", "1 less", "gone on", "1 more", "2 less", "2 more"]);
    expect(records).toHaveLength(6);
    expect(readArms(file)).toMatchObject({ wholeSeeds: [0, 1, 2] });
  });

  test("may end in the middle of a line, and goes on after the last whole one", () => {
    const arm = (seed: number): ArmRecord => ({ seed, arm: "less", measures: { score: 1 }, seconds: 2 });
    appendArm(file, arm(0));
    appendFileSync(file, '{"seed":1,"arm":"le');
    expect(readArms(file).arms).toEqual([arm(0)]);
    appendArm(file, arm(2));
    expect(readArms(file).arms).toEqual([arm(0), arm(2)]);
    expect(readFileSync(file, "utf8").split("\n")).toHaveLength(3);
  });

  test("of trials keeps every trial, with the commit of its settings", async () => {
    const onArm = (record: ArmRecord) => appendArm(file, trialOf(record, { commit: "abc1234", date: "2026-01-01" }));
    await runRecipe(counting, { seeds: 1, firstSeed: 100, isTuning: true, onArm });
    await runRecipe(counting, { seeds: 1, firstSeed: 100, isTuning: true, onArm });
    const lines = readFileSync(file, "utf8").trim().split("\n");
    expect(lines).toHaveLength(4);
    expect(JSON.parse(lines[0])).toEqual({
      ...{ seed: 100, arm: "less", measures: { score: 1 }, seconds: expect.any(Number) },
      about: { commit: "abc1234", date: "2026-01-01" },
    });
  });

  test("with something else in it is named with its line", () => {
    appendArm(file, { seed: 0, whole: true });
    appendFileSync(file, '{"seed":"x"}\n');
    expect(() => readArms(file)).toThrow(/bad-file: got line 2 of .*counting.jsonl: \{"seed":"x"\}/);
  });
});

test("while settings are chosen no held-out task is played that is reported", async () => {
  const played = new Set<string>();
  const asking = sums();
  const env: typeof asking = {
    ...asking,
    start: (context) => {
      played.add(context.task.question);
      return asking.start(context);
    },
  };
  const looking: Recipe = {
    ...counting,
    claims: [],
    async run(lab) {
      const start = await lab.begin({ env, policy: fromScratch({ size: "tiny", tokenizer: "bytes" }) });
      await lab.arm("more", async (arm) => {
        played.clear();
        arm.measure({ score: await start.evaluate({ tasks: 8, limits: { turns: 1, turnTokens: 2 } }) });
      });
    },
  };
  const playedBy = async (options: Partial<RunRecipeOptions>) => {
    await runRecipe(looking, { seeds: 1, ...options });
    return [...played];
  };
  const reported = await playedBy({});
  expect(reported.length).toBeGreaterThan(4);
  const tuned = await playedBy({ isTuning: true });
  expect(tuned.length).toBeGreaterThan(4);
  expect(tuned.filter((task) => reported.includes(task))).toEqual([]);
});

test("a signal of an arm ends its training early, and the recipe goes on", async () => {
  const env = keyDoor({ style: "compact", length: 4 });
  const policy = fromScratch({ size: "tiny", tokenizer: "bytes" });
  const stopping: Recipe = {
    ...counting,
    claims: [],
    async run(lab) {
      const start = await lab.begin({ env, policy });
      await lab.arm("more", async (arm) => {
        const stop = new AbortController();
        const monitors = [
          { name: "stops", record: ({ type }: { type: string }) => type === "step-end" && stop.abort() },
        ];
        const config = {
          algorithm: grpo(),
          tasksPerStep: 2,
          steps: 4,
          monitors: monitors as never,
          signal: stop.signal,
        };
        arm.measure({ score: (await start.train("more", config)).history.length });
      });
      await lab.arm("less", async (arm) => arm.measure({ score: 0 }));
    },
  };
  const { records } = await runRecipe(stopping, { seeds: 1 });
  expect(records.map(({ arm, measures }) => [arm, measures.score])).toEqual([
    ["more", 1],
    ["less", 0],
  ]);
  // an arm that trains tells its model; one that computes something else has none to tell
  const { parameters } = records[0].about ?? {};
  expect(records[0].about).toEqual({ engine: "embedded", device: expect.stringMatching(/^cpu/), parameters });
  expect(parameters).toBeGreaterThan(100_000);
  expect(records[1].about).toBeUndefined();
});
