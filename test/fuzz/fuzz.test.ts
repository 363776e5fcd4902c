import { describe, expect, test } from "vitest";
import { targets as faulty } from "./faulty-targets.ts";
import { readFixtures } from "./fixtures.ts";
import { inputOf } from "./fuzz-thread.ts";
import { type FuzzFailure, type FuzzOptions, runFuzz } from "./run-fuzz.ts";
import { targets } from "./targets/index.ts";

const module = new URL("./targets/index.ts", import.meta.url).href;
const minute = 60_000;

async function failuresOf(options: Partial<FuzzOptions>): Promise<FuzzFailure[]> {
  const failures: FuzzFailure[] = [];
  await runFuzz({
    module,
    targets,
    seed: 1,
    ms: 10_000,
    hangMs: 20_000,
    onFailure: (failure) => failures.push(failure),
    ...options,
  });
  return failures;
}

describe("everything that reads text from outside", () => {
  test("ten seconds of generated inputs: no exception, no hang", { timeout: 2 * minute }, async () => {
    expect(await failuresOf({})).toEqual([]);
  });

  test("inputs that failed once fail no more", { timeout: 5 * minute }, async () => {
    expect(await failuresOf({ replay: readFixtures() })).toEqual([]);
  });
});

describe("the fuzzer itself", () => {
  const one = async (name: string, more: Partial<FuzzOptions> = {}) => {
    const chosen = faulty.filter((target) => target.name === name);
    const own = new URL("./faulty-targets.ts", import.meta.url).href;
    return failuresOf({ module: own, targets: chosen, ms: 3_000, hangMs: 500, ...more });
  };

  test("an input depends on seed and index alone", () => {
    for (const { name } of targets) {
      expect(inputOf(targets, name, 3, 5)).toEqual(inputOf(targets, name, 3, 5));
      expect(inputOf(targets, name, 3, 5)).not.toEqual(inputOf(targets, name, 4, 5));
    }
  });

  test("a sound target has no failures", async () => {
    expect(await one("sound")).toEqual([]);
  });

  test("an exception is counted with the input that made it", async () => {
    const [first] = await one("throws");
    expect(first).toMatchObject({ kind: "exception", target: "throws", error: expect.stringContaining("cannot read") });
    expect(first.error).toContain(String(first.input));
  });

  test("an endless loop is a hang, and the next input is tried", { timeout: minute }, async () => {
    const failures = await one("hangs", { replay: { hangs: [2, 1, 4, 3] } });
    expect(failures.map(({ kind, input }) => [kind, input])).toEqual([
      ["hang", 2],
      ["hang", 4],
    ]);
  });

  test("a promise that never settles is a hang", async () => {
    expect(await one("waits", { replay: { waits: [0] } })).toMatchObject([{ kind: "hang" }]);
  });

  test("memory without bound ends the thread, not the process", { timeout: minute }, async () => {
    const failures = await one("fills the memory", { replay: { "fills the memory": [0] }, hangMs: 50_000 });
    expect(failures).toMatchObject([{ kind: "exception", error: expect.stringContaining("memory") }]);
  });

  test("a rejection that is left behind is counted", async () => {
    const failures = await one("leaves a rejection", { replay: { "leaves a rejection": [0] } });
    expect(failures).toMatchObject([{ kind: "exception", error: expect.stringContaining("left behind") }]);
  });
});
