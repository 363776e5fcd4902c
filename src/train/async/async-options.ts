import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";

/** How far rollouts may run ahead of the updates, and what an update does to sequences that are being sampled. */
export interface AsyncOptions {
  /**
   * Steps that rollouts may be ahead (AReaL's η): group number n is begun once ⌊n / tasksPerStep⌋ ≤ step + staleness. With 0 the run is
   * that of `train-sync`, to the bit. `Infinity`: `buffer` is the only bound.
   */
  staleness: number;
  /** Groups under way and waiting, together; (staleness + 1) * tasksPerStep by default, 32 * tasksPerStep where staleness is infinite. */
  buffer?: number;
  /**
   * What new weights do to a sequence that is being sampled. "recompute", the default: it goes on with them after its KV cache was
   * computed anew. "keep": it goes on with them and the cache it has. "wait": the update waits until it has ended.
   */
  interrupt?: InterruptMode;
  /** Groups with a token that is more steps old than this are dropped, and others rolled out in their place. None by default. */
  maxAge?: number;
}

export type InterruptMode = "recompute" | "keep" | "wait";

const known: KnownOptions<AsyncOptions> = { staleness: true, buffer: true, interrupt: true, maxAge: true };

/** Buffers of runs whose staleness is unbounded, in steps. */
const unboundedSteps = 32;

export function checkAsync(options: AsyncOptions | undefined, tasksPerStep: number): void {
  if (options === undefined) return;
  refuseUnknownOptions("train: async", options, known);
  const { staleness, buffer, interrupt = "recompute", maxAge } = options;
  const isWhole = (value: number | undefined, least: number) =>
    value === undefined || value === Number.POSITIVE_INFINITY || (Number.isInteger(value) && value >= least);
  const refuse = (name: string, value: unknown, least: number, hint: string) => {
    const expected = `a whole number of at least ${least}`;
    throw new LudusError("bad-config", { got: `async.${name} = ${value}`, expected, hint });
  };
  if (staleness === undefined || !isWhole(staleness, 0)) {
    refuse(
      "staleness",
      staleness,
      0,
      "0 is the synchronous run; 1 to 4 keep most algorithms sound; Infinity has no bound.",
    );
  }
  if (!isWhole(buffer, tasksPerStep))
    refuse("buffer", buffer, tasksPerStep, "A step takes tasksPerStep groups out of it.");
  if (!isWhole(maxAge, 0)) refuse("maxAge", maxAge, 0, "Leave it out to use every group.");
  refuseOtherValue("async.interrupt", interrupt, ["recompute", "keep", "wait"]);
}

/** Groups under way and waiting, together. */
export function bufferSize({ staleness, buffer }: AsyncOptions, tasksPerStep: number): number {
  return buffer ?? (Number.isFinite(staleness) ? (staleness + 1) * tasksPerStep : unboundedSteps * tasksPerStep);
}
