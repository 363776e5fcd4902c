import { describe, expect, test } from "vitest";
import type { StoreContext } from "./context.ts";

export function stateContract(context: StoreContext): void {
  describe("configuration and state", () => {
    test("come back as they were written last, also after reopening", async () => {
      const config = { model: { layers: 4 }, rates: [0.1, -0, Number.NaN], note: "東京\u0000" };
      await context.append(0, { config: { old: true }, state: { guide: { pool: [1] } } });
      await context.append(0, { config, state: { guide: { pool: [1, 2] }, other: null } });
      await context.append(3, { state: { guide: { pool: [] } } });
      await context.reopen();
      expect(await context.run.config()).toStrictEqual(config);
      expect(await context.run.state("guide")).toEqual({ pool: [] });
      expect(await context.run.state("other")).toBeNull();
      await expect(context.append(1, { state: { guide: undefined } })).rejects.toThrow("bad-state");
    });

    test("the configuration is the run's: it makes no step, and stays when steps are forgotten", async () => {
      await context.append(7, { config: { seed: 1 } });
      expect(await context.run.latestStep()).toBeUndefined();
      await context.run.truncateAfter(-1);
      expect(await context.run.config()).toEqual({ seed: 1 });
    });

    test("state pruned at a step has its value, and nothing from before it", async () => {
      for (const step of [1, 3, 5]) await context.append(step, { state: { guide: step } });
      await context.append(1, { state: { other: "kept" }, pruneStateBefore: 3 });
      expect(await context.run.state("guide")).toBe(5);
      await context.run.truncateAfter(3);
      expect(await context.run.state("guide")).toBe(3);
      await context.run.truncateAfter(2);
      expect(await context.run.state("guide")).toBeUndefined();
      expect(await context.run.state("other")).toBe("kept");
    });

    test("pruned state can still go back to the step it was pruned at, and later ones", async () => {
      for (const step of [1, 3, 5]) await context.append(step, { state: { guide: step } });
      // what the same append writes is pruned with the rest
      await context.append(7, { state: { guide: 7 }, pruneStateBefore: 4 });
      await context.run.truncateAfter(6);
      expect(await context.run.state("guide")).toBe(5);
      await context.run.truncateAfter(4);
      expect(await context.run.state("guide")).toBe(3);
      await context.run.truncateAfter(2);
      expect(await context.run.state("guide")).toBeUndefined();
    });
  });
}
