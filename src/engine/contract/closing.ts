import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { LudusError } from "../../errors.ts";
import type { Engine } from "../engine.ts";
import type { ContractContext } from "./context.ts";

export function closingContract(context: ContractContext, learns: boolean): void {
  const rows = [{ tokens: [1, 2, 3, 4, 5, 6] }];
  const derivatives = { logprobs_B_T: [Float32Array.of(0, 1, 1, 1, 1, 1)] };
  const calls: Record<string, (engine: Engine) => Promise<unknown>> = {
    sample: (engine) => engine.sample({ tokens: [1, 2], maxTokens: 20, seed: 0 }),
    forward: (engine) => engine.forward({ rows }),
    backward: async (engine) => engine.backward(await engine.forward({ rows }), derivatives),
    step: async (engine) => {
      await engine.backward(await engine.forward({ rows }), derivatives);
      await engine.step({ learningRate: 1e-3 });
    },
    snapshot: (engine) => engine.snapshot("copy"),
    save: (engine) => engine.save(join(context.folder, "closed")),
    load: (engine) => engine.load(join(context.folder, "closed")),
  };
  const names = Object.keys(calls).filter((name) => learns || !["snapshot", "save", "load"].includes(name));
  const folder = join(context.folder, "kept");
  const kept = async (engine: Engine) => {
    await engine.snapshot("copy");
    await engine.save(folder);
    await engine.load(folder);
  };
  /** Calls that go on side by side. */
  const together: [string, ((engine: Engine) => Promise<unknown>)[]][] = [
    ["sample(), forward() and step()", [calls.sample, calls.forward, calls.step]],
  ];
  if (learns) together.push(["sample(), snapshot(), save() and load()", [calls.sample, kept]]);
  // some engines start processes
  const timeout = 120_000;

  describe("close()", () => {
    test.each(together)(
      "in the middle of %s settles them",
      async (_, under) => {
        for (const waitMs of [0, 3, 20]) {
          const engine = await context.make();
          const pending = under.map((call) =>
            call(engine).then(
              () => "settled",
              (error: unknown) => (error instanceof LudusError ? error.code : String(error)),
            ),
          );
          await delay(waitMs);
          await engine.close();
          for (const end of await Promise.all(pending)) expect(["settled", "engine-closed"]).toContain(end);
        }
      },
      timeout,
    );

    test(
      "is done once, however often it is called",
      async () => {
        const engine = await context.make();
        const sampling = engine.sample({ tokens: [1, 2], maxTokens: 20, seed: 0 }).catch(() => {});
        await Promise.all([engine.close(), engine.close()]);
        await engine.close();
        await sampling;
      },
      timeout,
    );

    test(
      "refuses what is asked afterwards, and leaves other engines as they are",
      async () => {
        const engine = await context.make();
        if (learns) await engine.save(join(context.folder, "closed"));
        const forward = await engine.forward({ rows });
        await engine.close();
        for (const name of names) {
          await expect(calls[name](engine), name).rejects.toMatchObject({ code: "engine-closed" });
        }
        await expect(engine.backward(forward, derivatives)).rejects.toMatchObject({ code: "engine-closed" });
        await expect(engine.step({ learningRate: 1 })).rejects.toMatchObject({ code: "engine-closed" });
        // everything is freed already
        await engine.release({ rollout: "nobody" });
        expect((await context.engine.sample({ tokens: [1, 2], maxTokens: 2, seed: 0 })).tokens.length).toBe(2);
      },
      timeout,
    );
  });
}
