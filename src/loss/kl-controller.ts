import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { refuseUnknownOptions } from "../known-options.ts";

/** How the coefficient β of a KL penalty changes from one update to the next. It holds no state: the run does. */
export interface KlController {
  readonly initial: number;
  /** True of one that never changes: with a β of 0 the reference policy is then not asked at all. */
  readonly isFixed?: boolean;
  /** β after an update over `samples` rollouts whose divergence from the reference was `kl`. */
  next(coefficient: number, kl: number, samples: number): number;
}

export function fixedKl(coefficient: number): KlController {
  if (!(coefficient >= 0 && Number.isFinite(coefficient))) {
    throw new LudusError("bad-loss-option", { got: `a KL coefficient of ${coefficient}`, expected: "0 or more" });
  }
  return { initial: coefficient, isFixed: true, next: () => coefficient };
}

export interface AdaptiveKlOptions {
  readonly initial: number;
  /** The divergence to keep. */
  readonly target: number;
  /** Samples over which an error of a fifth or more changes β by a fifth. */
  readonly horizon: number;
}

/** β ← β(1 + clip(KL/target - 1, ±0.2)·samples/horizon) (Ziegler et al. 2019). */
export function adaptiveKl(options: AdaptiveKlOptions): KlController {
  refuseUnknownOptions("adaptiveKl", options, { initial: true, target: true, horizon: true });
  const { initial, target, horizon } = options;
  if (!(initial > 0 && target > 0 && horizon > 0)) {
    const got = `initial ${initial}, target ${target}, horizon ${horizon}`;
    throw new LudusError("bad-loss-option", {
      got,
      expected: "all above 0",
      ...defined({ hint: initial === 0 ? "β is multiplied, so one that begins at 0 stays there." : undefined }),
    });
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
