import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { refuseWithoutEffect } from "../option-without-effect.ts";
import type { Loss } from "./loss.ts";
import {
  hasNoAdvantage,
  type PolicyGradientOptions,
  policyGradient,
  policyGradientDefaults,
  type TermOf,
} from "./policy-gradient.ts";

export interface PpoClipOptions extends PolicyGradientOptions {
  /** The ratio is clipped to 1 - `clipLow` … 1 + `clipHigh`. */
  readonly clipLow: number;
  readonly clipHigh: number;
  /** Bounds what a bad token can cost, however much more probable it became: the loss is at most -advantage * `dualClipBound`. */
  readonly dualClip: boolean;
  readonly dualClipBound: number;
}

const defaults: PpoClipOptions = {
  ...policyGradientDefaults,
  clipLow: 0.2,
  clipHigh: 0.2,
  dualClip: false,
  dualClipBound: 3,
};

const known: KnownOptions<PpoClipOptions> = {
  aggregation: true,
  ratio: true,
  maskInside: true,
  maxLogRatio: true,
  corrections: true,
  clipLow: true,
  clipHigh: true,
  dualClip: true,
  dualClipBound: true,
};

/**
 * -min(ρA, clip(ρ)A) of each token: PPO, GRPO, DAPO (`clipHigh: 0.28`), Dr.GRPO, GSPO (`ratio: "sequence"`), M-GRPO and
 * decoupled PPO (`corrections: [fullRatio()]`) differ in options and advantages alone.
 */
export function ppoClip(options: Partial<PpoClipOptions> = {}): Loss {
  refuseUnknownOptions("ppoClip", options, known);
  const chosen = { ...defaults, ...options };
  if (!chosen.dualClip) {
    refuseWithoutEffect("ppoClip", options, ["dualClipBound"], {
      when: "without dualClip",
      hint: "Set dualClip: true.",
    });
  }
  check(chosen);
  return { ...policyGradient("ppo-clip", chosen, clippedTerm(chosen)), zeroGradient: hasNoAdvantage };
}

function clippedTerm({ clipLow, clipHigh, dualClip, dualClipBound }: PpoClipOptions): TermOf {
  const bounds = { low: 1 - clipLow, high: 1 + clipHigh, dual: dualClipBound };
  return (ratio, advantage, _logprob, term) => {
    term.clip = "none";
    if (advantage > 0 && ratio > bounds.high) term.clip = "high";
    else if (advantage < 0 && ratio < bounds.low) term.clip = "low";
    else if (dualClip && advantage < 0 && ratio > bounds.dual) term.clip = "dual";
    const counted = term.clip === "none" ? ratio : bounds[term.clip];
    term.value = -counted * advantage;
    term.ratioSlope = term.clip === "none" ? -advantage : 0;
  };
}

function check({ clipLow, clipHigh, dualClip, dualClipBound }: PpoClipOptions): void {
  if (!(clipLow >= 0 && clipHigh >= 0)) {
    throw new LudusError("bad-loss-option", { got: `clip ${clipLow}, ${clipHigh}`, expected: "0 or more" });
  }
  if (dualClip && !(dualClipBound > 1 + clipHigh)) {
    const expected = `above 1 + clipHigh = ${1 + clipHigh}`;
    throw new LudusError("bad-loss-option", { got: `dualClipBound ${dualClipBound}`, expected });
  }
}
