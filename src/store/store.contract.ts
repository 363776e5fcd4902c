import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { appendsContract } from "./contract/appends.ts";
import { catalogContract } from "./contract/catalog.ts";
import { StoreContext, type StorePlace } from "./contract/context.ts";
import { metricsContract } from "./contract/metrics.ts";
import { stateContract } from "./contract/state.ts";
import { trajectoriesContract } from "./contract/trajectories.ts";

export type { StorePlace } from "./contract/context.ts";

/**
 * The promises of `RunCatalog`, `RunStore` and `RunReader`. Call it from a test file of each implementation, with what makes
 * an empty catalog. Nothing in it asks for files or for answers at once: a database on another machine can pass.
 */
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
    appendsContract(context);
    catalogContract(context);

    test("closing twice is allowed, using it afterwards is not", async () => {
      await context.run.close();
      await context.run.close();
      await expect(context.run.latestStep()).rejects.toThrow("store-closed");
    });
  });
}
