import { setFlagsFromString } from "node:v8";

/**
 * Runs something while V8 joins neighbouring vectors of four numbers into one of eight where the processor has them, which doubles the
 * speed of products. V8 does that when it optimizes a function, so whatever is called here for the first time is optimized at its
 * first return. There is no such wish for a single module: flags hold for all threads of the process, and are set for as long as this
 * runs. They are chosen so that a module which another thread compiles or runs at that moment is at most optimized sooner and with
 * wide vectors; `--no-liftoff` instead, which V8 reads more than once for a module, makes Node 26 abort.
 *
 * `tieringBudget` is V8's own: after how much work it optimizes a function. Ask `wideVerdict` for it.
 */
export function whileWide<Result>(tieringBudget: number, run: () => Result): Result {
  const flags = [
    { on: "--experimental-wasm-revectorize", off: "--no-experimental-wasm-revectorize" },
    { on: "--wasm-sync-tier-up", off: "--no-wasm-sync-tier-up" },
    { on: "--wasm-tiering-budget=1", off: `--wasm-tiering-budget=${tieringBudget}` },
  ].filter(({ on }) => !startedWith.has(on));
  for (const { on } of flags) setFlagsFromString(on);
  try {
    return run();
  } finally {
    for (const { off } of flags) setFlagsFromString(off);
  }
}

/** Flags that the program was started with stay. */
const startedWith = new Set(process.execArgv.map((flag) => flag.replaceAll("_", "-")));
