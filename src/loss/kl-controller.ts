import { LudusError } from "../errors.ts";

/** Chooses β from one update to the next. β is all its state. */
export interface KlController {
  readonly coefficient: number;
  /** `kl` of the update that was made, `samples` rollouts in it. */
  update(kl: number, samples: number): void;
  restore(coefficient: number): void;
}

export function fixedKl(coefficient: number): KlController {
  let current = coefficient;
  return {
    get coefficient() {
      return current;
    },
    update() {},
    restore(coefficient) {
      current = coefficient;
    },
  };
}

export interface AdaptiveKlOptions {
  readonly initial: number;
  /** The divergence to keep. */
  readonly target: number;
  /** Samples over which an error of a fifth or more changes β by a fifth. */
  readonly horizon: number;
}

/** β ← β(1 + clip(KL/target - 1, ±0.2)·samples/horizon) (Ziegler et al. 2019). */
export function adaptiveKl({ initial, target, horizon }: AdaptiveKlOptions): KlController {
  if (!(target > 0 && horizon > 0)) {
    throw new LudusError("bad-loss-option", { got: `target ${target}, horizon ${horizon}`, expected: "both above 0" });
  }
  let current = initial;
  return {
    get coefficient() {
      return current;
    },
    update(kl, samples) {
      const error = Math.max(-maxError, Math.min(maxError, kl / target - 1));
      current *= 1 + (error * samples) / horizon;
    },
    restore(coefficient) {
      current = coefficient;
    },
  };
}

const maxError = 0.2;
