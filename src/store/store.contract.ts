import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { StoreContext, type StorePlace } from "./contract/context.ts";
import { metricsContract } from "./contract/metrics.ts";
import { stateContract } from "./contract/state.ts";
import { trajectoriesContract } from "./contract/trajectories.ts";
import { transactionsContract } from "./contract/transactions.ts";

export type { StorePlace } from "./contract/context.ts";

/** The promises of `RunStore`. Call it from a test file of each store. */
export function storeContract(name: string, make: () => Promise<StorePlace>): void {
  describe(`${name} keeps the store contract`, () => {
    const context = new StoreContext(make);
    beforeEach(() => context.open());
    afterEach(() => context.close());

    test("an empty run has nothing", async () => {
      expect(await context.run.latestStep()).toBeUndefined();
      expect(await context.run.config()).toBeUndefined();
      expect(await context.run.state("guide")).toBeUndefined();
      expect(await context.run.metricNames()).toEqual([]);
      expect(await context.run.series("loss")).toEqual([]);
      expect(await context.run.events()).toEqual([]);
      expect(await context.run.trajectories()).toEqual({ trajectories: [] });
      expect(await context.run.countTrajectories()).toBe(0);
    });

    metricsContract(context);
    stateContract(context);
    trajectoriesContract(context);
    transactionsContract(context);

    test("closing twice is allowed, using it afterwards is not", async () => {
      await context.run.close();
      await context.run.close();
      await expect(context.run.latestStep()).rejects.toThrow("store-closed");
    });
  });
}
