import { LudusError } from "../errors.ts";

/** How the coefficient β of a KL penalty changes from one update to the next. It holds no state: the run does. */
export interface KlController {
  readonly initial: number;
  /** β after an update over `samples` rollouts whose divergence from the reference was `kl`. */
  next(coefficient: number, kl: number, samples: number): number;
}

export function fixedKl(coefficient: number): KlController {
  return { initial: coefficient, next: () => coefficient };
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
  return {
    initial,
    next(coefficient, kl, samples) {
      const error = Math.max(-maxError, Math.min(maxError, kl / target - 1));
      return coefficient * (1 + (error * samples) / horizon);
    },
  };
}

const maxError = 0.2;
