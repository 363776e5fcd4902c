import { expect, test } from "vitest";
import { type LockOptions, lock } from "./lock.ts";
import { playEpisode } from "./testing/play-episode.ts";

const task = { id: "lock", seed: 0, data: { serial: "1298", code: "4521" } };
const play = (says: readonly string[], options: Partial<LockOptions> = {}) => playEpisode(lock(options), task, says);

test("the right code opens, however it is spaced; nothing else does", async () => {
  for (const said of ["4521", "4 5 2 1", "4-5-2-1", " 4521\n"]) {
    expect((await play([said])).scores.agent).toEqual({ total: 1, parts: { outcome: 1 }, success: true });
  }
  for (const said of ["4520", "45210", "452", "", "code 4521", "4521 4520"]) {
    expect((await play([said])).scores.agent.total).toBe(0);
  }
});

test("by default there is one try and nothing to go by", async () => {
  const { heard, turns, stop } = await play(["0000", "4521"]);
  expect(heard).toEqual(["1298"]);
  expect([turns.length, stop]).toEqual([1, "max-turns"]);
});

test.each([
  ["none", "wrong"],
  ["count", "wrong 2"],
  ["places", "wrong 4_2_"],
] as const)("feedback %s tells %j", async (feedback, told) => {
  expect((await play(["4820"], { feedback, tries: 2 })).heard[1]).toBe(told);
});

test.each([
  ["plan", "1298\n+3", "wrong"],
  ["environment", "1298\n=4521", "wrong"],
  ["feedback", "1298", "wrong 4_2_"],
] as const)("hint %s", async (hint, first, second) => {
  expect((await play(["4820"], { hint, tries: 2 })).heard).toEqual([first, second]);
});

test("hints in words, for a guide that has only a task and a failed try", () => {
  const hints = lock({ style: "tags" }).hints({ task: task.data, lastTry: "4 8 2 0" });
  expect(hints.plan).toBe("Add 3 to every digit of the serial number, starting over at 0 after 9.");
  expect(hints.feedback).toContain("4_2_");
  expect(hints.environment).toBe("The code of this lock is 4521.");
  expect(lock().hints({ task: task.data, lastTry: undefined })).toEqual({
    plan: "+3",
    feedback: "",
    environment: "=4521",
  });
});

test("with a shift, every code follows from its serial number; at random, none does", async () => {
  const shifted = ({ serial, code }: { serial: string; code: string }) =>
    [...serial].every((digit, i) => (Number(digit) + 3) % 10 === Number(code[i]));
  const codes = async (options: Partial<LockOptions>) =>
    Promise.all(Array.from({ length: 200 }, async (_, i) => (await lock(options).tasks.at("train", i)).data));
  expect((await codes({})).every(shifted)).toBe(true);
  expect((await codes({ secret: "random" })).filter(shifted).length).toBeLessThan(3);
});

test("other bases and lengths: digits beyond 9 are letters", async () => {
  const env = lock({ digits: 6, base: 16, shift: 15 });
  const { data } = await env.tasks.at("train", 1);
  expect(data.code).toMatch(/^[0-9a-f]{6}$/);
  const { scores } = await playEpisode(env, await env.tasks.at("train", 1), [data.code.toUpperCase()]);
  expect(scores.agent.success).toBe(true);
});

test("the expert opens every lock, and no serial number of the test is in training", async () => {
  const env = lock();
  const serials: Record<string, Set<string>> = { train: new Set(), test: new Set() };
  for (const [split, seen] of Object.entries(serials)) {
    for (let i = 0; i < 100; i++) {
      const made = await env.tasks.at(split, i);
      seen.add(made.data.serial);
      expect((await playEpisode(env, made, "expert")).scores.agent.success).toBe(true);
    }
  }
  expect([...serials.train].filter((serial) => serials.test.has(serial))).toEqual([]);
});

test("options out of range are refused in words", () => {
  expect(() => lock({ base: 1 })).toThrow(/base = 1/);
  expect(() => lock({ shift: 10 })).toThrow(/shift = 10/);
});
