import { failuresOutsideStatistics } from "./failures-outside-statistics.ts";
import type { Invariant } from "./invariant.ts";
import { maskCoversSampled } from "./mask-covers-sampled.ts";
import { rolloutWeighsOne } from "./rollout-weighs-one.ts";

/** Those that stored rollouts alone decide. */
export const builtinInvariants: readonly Invariant[] = [maskCoversSampled, failuresOutsideStatistics, rolloutWeighsOne];
