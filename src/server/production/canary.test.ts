import { expect, test } from "vitest";
import { createRng } from "../../random.ts";
import { type CanaryOptions, createCanary, shareDifference } from "./canary.ts";

/** Sessions until something is decided, or there are no more. */
function played(stable: number, candidate: number, seed: number, options: Partial<CanaryOptions> = {}, most = 20_000) {
  const canary = createCanary({ share: 0.2, salt: String(seed), ...options });
  const rng = createRng(seed);
  for (let i = 0; i < most && canary.state().phase === "running"; i++) {
    const id = `session-${i}`;
    canary.observe(id, rng.next() < (canary.choose(id) === "candidate" ? candidate : stable));
  }
  return canary;
}

test("a better candidate is promoted, a worse one rolled back, and then all sessions go there", () => {
  const better = played(0.5, 0.7, 1);
  expect(better.state()).toMatchObject({ phase: "promoted" });
  expect(better.state().difference!.low).toBeGreaterThan(0);
  expect(better.choose("anyone")).toBe("candidate");
  const worse = played(0.7, 0.5, 2);
  expect(worse.state().phase).toBe("rolled-back");
  expect(Array.from({ length: 50 }, (_, i) => worse.choose(`s-${i}`))).not.toContain("candidate");
  const before = worse.state();
  expect(worse.observe("late", true)).toBe(before);
});

test("of candidates that are as good as the stable one, at most as many are decided on as the error allows", () => {
  const ends = Array.from({ length: 120 }, (_, seed) => played(0.6, 0.6, seed, { firstLook: 20 }, 2000).state());
  const undecided = ends.filter(({ phase }) => phase === "running");
  // 5 % of 120 are 6
  expect(ends.length - undecided.length).toBeLessThanOrEqual(6);
  expect(undecided.every(({ looks }) => looks >= 3)).toBe(true);
});

test("the share that was asked for sees the candidate, the same sessions every time", () => {
  const canary = createCanary({ share: 0.1 });
  const chosen = Array.from({ length: 5000 }, (_, i) => canary.choose(`s-${i}`));
  const share = chosen.filter((arm) => arm === "candidate").length / chosen.length;
  expect(Math.abs(share - 0.1)).toBeLessThan(0.02);
  expect(Array.from({ length: 5000 }, (_, i) => canary.choose(`s-${i}`))).toEqual(chosen);
});

test("goes on after a restart, and is called off by hand", () => {
  const first = played(0.5, 0.5, 3, {}, 400);
  const state = JSON.parse(JSON.stringify(first.state()));
  const second = createCanary({ share: 0.2, salt: "3", from: state });
  expect(second.state()).toEqual(first.state());
  expect(second.rollBack().phase).toBe("rolled-back");
  expect(second.choose("any")).toBe("stable");
});

test("a tolerance keeps a candidate that is hardly worse", () => {
  expect(played(0.7, 0.62, 5, { tolerance: 0.2 }, 6000).state().phase).toBe("running");
});

test("the interval is Newcombe's", () => {
  // Newcombe 1998, example (a): 56/70 against 48/80
  const { low, high } = shareDifference({ count: 80, successes: 48 }, { count: 70, successes: 56 }, 0.05);
  expect(low).toBeCloseTo(0.0524, 3);
  expect(high).toBeCloseTo(0.3339, 3);
});

test("options that make no sense are refused", () => {
  expect(() => createCanary({ share: 1 })).toThrow(/share/);
  expect(() => createCanary({ firstLook: 5 })).toThrow(/firstLook/);
  expect(() => createCanary({ shares: 0.1 } as never)).toThrow(/did you mean "share"/);
});
