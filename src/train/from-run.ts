import type { WantedStep } from "../checkpoint/choose-step.ts";
import type { LoadOptions } from "../engine/engine.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";

export interface FromRunOptions {
  /** The step of a checkpoint, `"last"` (the default), or `"best"` by held-out success. */
  step: WantedStep;
  /**
   * `"fresh"`, the default, takes the weights alone: moments belong to the gradients of the loss and the learning rate that made
   * them. `"keep"` takes the optimizer's state too, to go on with the same algorithm.
   */
  optimizer: NonNullable<LoadOptions["optimizer"]>;
}

/** A run that starts from the weights of another one. */
export interface FromRun extends FromRunOptions {
  readonly name: "from-run";
  /** It takes no steps of its own. */
  readonly steps: number;
  readonly run: string;
}

const defaults: FromRunOptions = { step: "last", optimizer: "fresh" };
const known: KnownOptions<FromRunOptions> = { step: true, optimizer: true };

/**
 * Starts from a checkpoint of another run instead of a warm start of its own:
 *
 *     await train({ …, warmStart: fromRun("runs/first", { step: "best" }), run: "runs/second" });
 *
 * The policy must have the same model and tokenizer. It is made with the seed that the other run's was made with, so that
 * `fromScratch()` makes the same tokenizer whatever `seed` this run has.
 */
export function fromRun(run: string, options: Partial<FromRunOptions> = {}): FromRun {
  refuseUnknownOptions("fromRun()", options, known);
  const { step, optimizer } = { ...defaults, ...options };
  const isStep = step === "last" || step === "best" || (Number.isInteger(step) && step >= 0);
  if (!isStep || (optimizer !== "keep" && optimizer !== "fresh")) {
    throw new LudusError("bad-config", {
      got: `fromRun() with step ${step} and optimizer ${optimizer}`,
      expected: 'the step of a checkpoint, "last" or "best", and "fresh" or "keep"',
    });
  }
  return { name: "from-run", steps: 0, run, step, optimizer };
}
