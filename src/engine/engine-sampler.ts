import { LudusError } from "./../errors.ts";
import type { Engine } from "./engine.ts";
import { goneCodes, type PublishedWeights, type Sampler } from "./sampler.ts";

/** What a sampler asks of an engine. */
export type SamplingEngine = Pick<Engine, "sample" | "load" | "release" | "close">;

/**
 * An engine as a sampler: it loads what the trainer publishes. `open` is called when weights come and there is no engine, or the last
 * one died.
 */
export function engineSampler(
  name: string,
  open: (weights: PublishedWeights) => Promise<SamplingEngine>,
  takes: "model" | "shared" = "model",
): Sampler {
  let engine: SamplingEngine | undefined;
  let closings = 0;
  const lost = async (error: unknown, from: SamplingEngine) => {
    if (!(error instanceof LudusError && goneCodes.includes(error.code))) return;
    if (engine === from) engine = undefined;
    await from.close().catch(() => {});
  };
  const load = (own: SamplingEngine, { directory }: PublishedWeights) => own.load(directory, { optimizer: "fresh" });
  const guarded = async <Value>(own: SamplingEngine, work: () => Promise<Value>): Promise<Value> => {
    try {
      return await work();
    } catch (error) {
      await lost(error, own);
      throw error;
    }
  };
  return {
    name,
    takes,
    async use(weights) {
      const last = engine;
      try {
        if (last !== undefined) return await guarded(last, () => load(last, weights));
      } catch (error) {
        // it died, and nobody had noticed: another one is opened
        if (engine === last) throw error;
      }
      const before = closings;
      const own = await open(weights);
      if (closings !== before) {
        await own.close();
        throw new LudusError("sampler-gone", { got: `${name}, closed while it started`, expected: "one that runs" });
      }
      engine = own;
      await guarded(own, () => load(own, weights));
    },
    async sample(request, signal) {
      const own = engine;
      if (own === undefined) {
        throw new LudusError("sampler-gone", { got: `${name}, which is not running`, expected: "use() first" });
      }
      return guarded(own, () => own.sample(request, signal));
    },
    async release(rollout) {
      await engine?.release({ rollout });
    },
    async close() {
      closings++;
      await engine?.close();
      engine = undefined;
    },
  };
}
