// The stand-in for vitest that runs the engine contract where vitest is not installed.
import { describe, expect, test } from "vitest";
import * as standIn from "../scripts/gpu-contract/vitest.ts";

const options = { timeoutMs: 1000 };

describe("the stand-in for vitest", () => {
  test("runs tests in order between hooks, and says what failed and what was skipped", async () => {
    const calls: string[] = [];
    const outcomes = await standIn.runSuite(() => {
      standIn.describe("an engine", () => {
        standIn.beforeAll(() => calls.push("open"));
        standIn.afterAll(() => calls.push("close"));
        standIn.describe("sampling", () => {
          standIn.test.each([0.3, 1])("at %d", (temperature) => calls.push(`test ${temperature}`));
          standIn.test("fails", async () => standIn.expect(1, "one").toBe(2));
          standIn.test.for(["values"])("of %s", (_, { skip }) => skip("no reason"));
        });
      });
    }, options);
    expect(calls).toEqual(["open", "test 0.3", "test 1", "close"]);
    expect(outcomes).toEqual([
      { name: "sampling > at 0.3", state: "passed", note: "" },
      { name: "sampling > at 1", state: "passed", note: "" },
      { name: "sampling > fails", state: "failed", note: "one: expected 1 to be 2" },
      { name: "sampling > of values", state: "skipped", note: "no reason" },
    ]);
  });

  test("an engine that does not start is a failure, and what was opened is closed", async () => {
    const calls: string[] = [];
    const outcomes = await standIn.runSuite(() => {
      standIn.beforeAll(() => Promise.reject(new Error("no GPU")));
      standIn.afterAll(() => calls.push("close"));
      standIn.test("never runs", () => calls.push("test"));
    }, options);
    expect(outcomes).toEqual([{ name: "the engine starts", state: "failed", note: "no GPU" }]);
    expect(calls).toEqual(["close"]);
  });

  test("a test that does not end fails", async () => {
    const body = () => standIn.test("waits", () => new Promise(() => {}));
    const [outcome] = await standIn.runSuite(body, { timeoutMs: 10 });
    expect(outcome).toMatchObject({ state: "failed", note: "took longer than 0.01 s" });
  });

  const wrong: [string, () => unknown][] = [
    ["toBe", () => standIn.expect({}).toBe({})],
    ["toBeUndefined", () => standIn.expect(null).toBeUndefined()],
    ["toEqual", () => standIn.expect([1, [2]]).toEqual([1, [3]])],
    ["toEqual of arrays of numbers", () => standIn.expect([Float32Array.of(1)]).toEqual([Float32Array.of(2)])],
    ["toContain", () => standIn.expect([1, 2]).toContain(3)],
    ["toBeLessThan", () => standIn.expect(Number.NaN).toBeLessThan(1)],
    ["toBeGreaterThan", () => standIn.expect(1).toBeGreaterThan(1)],
    ["toBeCloseTo", () => standIn.expect(1.0001).toBeCloseTo(1, 4)],
    ["toMatchObject", () => standIn.expect({ code: "a", more: 1 }).toMatchObject({ code: "b" })],
    ["rejects of what is fulfilled", () => standIn.expect(Promise.resolve()).rejects.toThrow()],
    [
      "rejects with another error",
      () => standIn.expect(Promise.reject({ code: "a" })).rejects.toMatchObject({ code: "b" }),
    ],
  ];
  test.each(wrong)("%s notices what is wrong", async (_, check) => {
    await expect((async () => check())()).rejects.toThrow("expected");
  });

  test("matchers accept what is right", async () => {
    standIn.expect(Float32Array.of(1, 2)).toEqual(Float32Array.of(1, 2));
    standIn.expect(1.00001).toBeCloseTo(1, 4);
    standIn.expect({ code: "a", weights: ["policy"], more: 1 }).toMatchObject({ code: "a", weights: ["policy"] });
    await standIn.expect(Promise.reject(new Error("gone"))).rejects.toThrow();
    await standIn.expect(Promise.reject({ code: "a", got: 1 })).rejects.toMatchObject({ code: "a" });
  });
});
