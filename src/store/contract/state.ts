import { describe, expect, test } from "vitest";
import type { StoreContext } from "./context.ts";

export function stateContract(context: StoreContext): void {
  describe("configuration and state", () => {
    test("come back as they were written last, also after reopening", async () => {
      const config = { model: { layers: 4 }, rates: [0.1, -0, Number.NaN], note: "東京\u0000" };
      await context.write((run) => {
        run.setConfig({ old: true });
        run.setConfig(config);
        run.setState(0, "guide", { pool: [1] });
        run.setState(0, "guide", { pool: [1, 2] });
        run.setState(0, "other", null);
      });
      await context.write((run) => run.setState(3, "guide", { pool: [] }));
      await context.reopen();
      expect(await context.run.config()).toStrictEqual(config);
      expect(await context.run.state("guide")).toEqual({ pool: [] });
      expect(await context.run.state("other")).toBeNull();
      await expect(context.write((run) => run.setState(1, "guide", undefined))).rejects.toThrow("bad-state");
    });

    test("state pruned at a step has its value, and nothing from before it", async () => {
      await context.write((run) => {
        for (const step of [1, 3, 5]) run.setState(step, "guide", step);
        run.setState(1, "other", "kept");
        run.pruneState(3);
      });
      expect(await context.run.state("guide")).toBe(5);
      await context.run.truncateAfter(3);
      expect(await context.run.state("guide")).toBe(3);
      await context.run.truncateAfter(2);
      expect(await context.run.state("guide")).toBeUndefined();
      expect(await context.run.state("other")).toBe("kept");
    });

    test("pruned state can still go back to the step it was pruned at, and later ones", async () => {
      await context.write((run) => {
        for (const step of [1, 3, 5, 7]) run.setState(step, "guide", step);
        run.pruneState(4);
      });
      await context.run.truncateAfter(6);
      expect(await context.run.state("guide")).toBe(5);
      await context.run.truncateAfter(4);
      expect(await context.run.state("guide")).toBe(3);
      await context.run.truncateAfter(2);
      expect(await context.run.state("guide")).toBeUndefined();
    });
  });
}
