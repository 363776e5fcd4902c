import { expect, test } from "vitest";
import { madeWith } from "../bench/systems/made-with.ts";
import type { ArmRecord } from "../src/recipe/claim.ts";

const arm = (about?: ArmRecord["about"]): ArmRecord => ({
  ...{ seed: 0, arm: "a", measures: {}, seconds: 1 },
  ...(about === undefined ? {} : { about }),
});

test("what records say of how they were made, each thing once", () => {
  const machine = { processor: "AMD EPYC", cores: 2, threads: 1, ludus: "0.1.0", commit: "abc1234" };
  const model = { engine: "embedded", device: "cpu, 1 thread", parameters: 322_368 };
  expect(
    madeWith([
      arm({ date: "2026-11-18T01:00:00.000Z", ...machine, ...model }),
      arm({ date: "2026-11-17T01:00:00.000Z", ...machine, ...model, parameters: 1_204_000 }),
    ]),
  ).toBe(
    "embedded, on cpu, 1 thread, 0.32M to 1.20M parameters, AMD EPYC, 2 cores, ludus 0.1.0, commit abc1234, 2026-11-17 to 2026-11-18",
  );
});

test("records of earlier versions say less, or nothing", () => {
  expect(madeWith([arm({ date: "2026-11-18T01:00:00.000Z", processor: "AMD EPYC" })])).toBe("AMD EPYC, 2026-11-18");
  expect(madeWith([arm()])).toBe("");
});
