import type { Engine } from "./engine.ts";

/** The same engine with some of its functions replaced. `info` stays a getter: versions change. */
export function delegate(engine: Engine, changes: Partial<Omit<Engine, "info">>): Engine {
  return {
    get info() {
      return engine.info;
    },
    sample: (request, signal) => engine.sample(request, signal),
    forward: (batch, options) => engine.forward(batch, options),
    backward: (forward, derivatives) => engine.backward(forward, derivatives),
    step: (options) => engine.step(options),
    snapshot: (name, options) => engine.snapshot(name, options),
    release: (kept) => engine.release(kept),
    save: (directory, options) => engine.save(directory, options),
    load: (directory, options) => engine.load(directory, options),
    close: () => engine.close(),
    ...changes,
  };
}
