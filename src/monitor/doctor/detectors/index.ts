import type { Detector } from "../detector.ts";
import { clipFraction } from "./clip-fraction.ts";
import { echoTrap } from "./echo-trap.ts";
import { entropyCollapse } from "./entropy-collapse.ts";
import { everythingCrashed } from "./everything-crashed.ts";
import { graderHacking } from "./grader-hacking.ts";
import { infrastructureFailures } from "./infrastructure-failures.ts";
import { klExplosion } from "./kl-explosion.ts";
import { learningRate } from "./learning-rate.ts";
import { learningStalled } from "./learning-stalled.ts";
import { lengthExplosion } from "./length-explosion.ts";
import { loops } from "./loops.ts";
import { observationUnmasked } from "./observation-unmasked.ts";
import { rewardDistribution } from "./reward-distribution.ts";
import { sampleEfficiency } from "./sample-efficiency.ts";
import { skippedUpdates } from "./skipped-updates.ts";
import { toolHallucination } from "./tool-hallucination.ts";
import { trainSampleMismatch } from "./train-sample-mismatch.ts";
import { valueFunction } from "./value-function.ts";
import { warmStart } from "./warm-start.ts";
import { zeroVariance } from "./zero-variance.ts";

/** All there are: what leaves nothing to look at first, then the seven failure modes, then the echo trap, then the rest. */
export const builtinDetectors: readonly Detector[] = [
  everythingCrashed,
  ...[observationUnmasked, graderHacking, lengthExplosion, toolHallucination, loops, zeroVariance, entropyCollapse],
  echoTrap,
  ...[
    klExplosion,
    learningRate,
    warmStart,
    rewardDistribution,
    infrastructureFailures,
    trainSampleMismatch,
    clipFraction,
  ],
  ...[valueFunction, skippedUpdates, learningStalled, sampleEfficiency],
];
