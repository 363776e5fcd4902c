import { delegate } from "../../engine/delegate.ts";
import type { Engine } from "../../engine/engine.ts";
import { LudusError } from "../../errors.ts";
import type { InterruptMode } from "./async-options.ts";

/** An engine whose updates treat running sequences as the mode says. Engines compute their caches anew by themselves. */
export function withInterrupt(engine: Engine, mode: InterruptMode): Engine {
  if (mode === "recompute") return engine;
  if (mode === "wait") return uninterrupted(engine);
  if (engine.info.keepsCaches !== true) {
    throw new LudusError("bad-config", {
      got: `async.interrupt "keep" with the ${engine.info.name} engine`,
      expected: 'an engine that can keep KV caches over an update, or "recompute"',
      hint: "The embedded engine can.",
    });
  }
  return delegate(engine, { step: (options) => engine.step({ ...options, caches: "keep" }) });
}

/** Updates wait until what is being sampled has ended, and what is asked for meanwhile waits for the update. */
function uninterrupted(engine: Engine): Engine {
  let sampling = 0;
  let stepping: PromiseWithResolvers<void> | undefined;
  let drained: PromiseWithResolvers<void> | undefined;
  return delegate(engine, {
    async sample(request, signal) {
      while (stepping !== undefined) await stepping.promise;
      signal?.throwIfAborted();
      sampling++;
      try {
        return await engine.sample(request, signal);
      } finally {
        sampling--;
        if (sampling === 0) drained?.resolve();
      }
    },
    async step(options) {
      stepping = Promise.withResolvers();
      if (sampling > 0) {
        drained = Promise.withResolvers();
        await drained.promise;
      }
      try {
        return await engine.step(options);
      } finally {
        const { resolve } = stepping;
        [stepping, drained] = [undefined, undefined];
        resolve();
      }
    },
  });
}
