import { describe, expect, test } from "vitest";
import { createRng, type Rng } from "../random.ts";
import { type ArmRecord, type Claim, holm, judgeClaims } from "./claim.ts";

const claim: Claim = {
  statement: "masked is better",
  source: "here",
  method: "masked",
  baseline: "unmasked",
  measure: "success",
  want: "more",
  smallest: 0.05,
};

function normal(rng: Rng): number {
  return Math.sqrt(-2 * Math.log(1 - rng.next())) * Math.cos(2 * Math.PI * rng.next());
}

/** Two arms for each seed; tasks differ in how hard they are, seeds in how much the method gains. */
function made(rng: Rng, { seeds = 5, tasks = 40, gain = 0, deviation = 0.05, byTask = true } = {}): ArmRecord[] {
  const hardness = Array.from({ length: tasks }, () => 0.2 + 0.6 * rng.next());
  return Array.from({ length: seeds }, (_, seed) => {
    const ours = gain + deviation * normal(rng);
    return [
      ["masked", ours],
      ["unmasked", 0],
    ].map(([arm, more]): ArmRecord => {
      const values = hardness.map((p) => (rng.next() < p + Number(more) ? 1 : 0));
      const success = values.reduce<number>((sum, value) => sum + value, 0) / tasks;
      return {
        seed,
        arm: String(arm),
        measures: { success },
        seconds: 1,
        ...(byTask ? { tasks: { success: { of: "40 tasks", values } } } : {}),
      };
    });
  }).flat();
}

describe("a claim", () => {
  test("holds where the difference is large and certain", () => {
    const [verdict] = judgeClaims([claim], made(createRng(1), { gain: 0.3 }));
    expect(verdict).toMatchObject({ holds: true, seeds: 5 });
    expect(verdict.because).toBeUndefined();
    expect(verdict.low).toBeLessThan(verdict.effect);
    expect(verdict.low).toBeGreaterThan(0.1);
  });

  test.each([
    ["in the other direction", { gain: -0.3 }, {}, /other direction/],
    ["too small to matter", { gain: 0.02, deviation: 0, tasks: 4000 }, {}, /below 0.05, the smallest of interest/],
    ["of too few seeds", { gain: 0.3, seeds: 4 }, {}, /4 of at least 5 seeds/],
    ["that chance may give", { gain: 0.1, deviation: 0.3 }, {}, /p is 0\.\d+ after correction/],
    ["of less where more is found", { gain: 0.3 }, { want: "less" as const }, /other direction/],
  ])("does not hold on a difference %s", (_, world, changes, because) => {
    const [verdict] = judgeClaims([{ ...claim, ...changes }], made(createRng(3), world));
    expect(verdict).toMatchObject({ holds: false, because: expect.stringMatching(because) });
  });

  test("without tasks is judged by its seeds", () => {
    const [verdict] = judgeClaims([claim], made(createRng(1), { gain: 0.3, byTask: false }));
    expect(verdict.holds).toBe(true);
  });

  test("on which all seeds agree to the digit is not infinitely certain", () => {
    const records = Array.from({ length: 5 }, (_, seed) => [
      { seed, arm: "masked", measures: { success: 1 }, seconds: 1 },
      { seed, arm: "unmasked", measures: { success: 0 }, seconds: 1 },
    ]).flat();
    expect(judgeClaims([claim], records)[0]).toMatchObject({ p: 1 / 32, holds: true, low: 1, high: 1 });
    expect(judgeClaims([claim, { ...claim, want: "less" }], records)[0].holds).toBe(false);
  });

  test("is judged by the seeds in which both arms were measured", () => {
    const records = made(createRng(1), { gain: 0.3, seeds: 6 }).map((record) =>
      record.seed === 3 && record.arm === "masked" ? { ...record, measures: {}, tasks: {} } : record,
    );
    expect(judgeClaims([claim], records)[0]).toMatchObject({ seeds: 5, holds: true });
    expect(judgeClaims([{ ...claim, measure: "turns" }], records)[0]).toMatchObject({ seeds: 0, holds: false });
  });

  test("about arms nobody ran does not hold", () => {
    expect(judgeClaims([claim], [])[0]).toMatchObject({ holds: false, seeds: 0, because: "0 of at least 5 seeds" });
  });
});

test("where nothing is there, few claims hold", () => {
  const rng = createRng(7);
  const rounds = 150;
  const found = Array.from(
    { length: rounds },
    () => judgeClaims([{ ...claim, smallest: 0 }], made(rng, { tasks: 20 }))[0],
  );
  // 0.05 is allowed; three deviations more would be 0.1
  expect(found.filter(({ holds }) => holds).length / rounds).toBeLessThan(0.1);
  expect(found.filter(({ low, high }) => low <= 0 && high >= 0).length / rounds).toBeGreaterThan(0.9);
});

test("Holm's correction", () => {
  expect(holm([0.01, 0.04, 0.03, 0.005])).toEqual([0.03, 0.06, 0.06, 0.02]);
  expect(holm([0.5, 0.9])).toEqual([1, 1]);
  expect(holm([])).toEqual([]);
});
