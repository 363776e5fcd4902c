import type { Rng } from "../../src/random.ts";

/**
 * One thing that takes text or bytes from outside. An input is plain JSON that depends on the random numbers alone, so that a
 * seed and an index are enough to make it again, and a failing one can be kept as a fixture.
 */
export interface FuzzTarget<Input = unknown> {
  readonly name: string;
  generate(rng: Rng): Input;
  /** Throws where a promise is broken. Refusals that are documented (`LudusError`) are no failures: see `allowRefusal`. */
  run(input: Input): void | Promise<void>;
  close?(): void | Promise<void>;
}
