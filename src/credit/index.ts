export { type CreditAttempt, groupAttempts } from "./attempts.ts";
export { type BiLevelGaeOptions, type BiLevelInput, biLevelAdvantages, biLevelGae } from "./bi-level-gae.ts";
export type { Credit, CreditNeeds, CreditResult, CreditRow, CreditTurn } from "./credit.ts";
export { creditResult } from "./credit-result.ts";
export { type DenseGaeInput, denseGae } from "./dense-gae.ts";
export { type DiscountedReturnsOptions, discountedReturns } from "./discounted-returns.ts";
export { type DynamicSamplingOptions, dynamicSampling } from "./dynamic-sampling.ts";
export type { PassOptions } from "./filter-choice.ts";
export { type GaeOptions, gae, type Lambda } from "./gae.ts";
export { type GigpoCreditOptions, gigpoCredit } from "./gigpo-credit.ts";
export type { FilterChoice, FilterGroup, GroupFilter } from "./group-filter.ts";
export { drGrpoCredit, groupRelative } from "./group-relative.ts";
export { keepAllGroups } from "./keep-all-groups.ts";
export { leaveOneOut, leaveOneOutAdvantages } from "./leave-one-out.ts";
export { lengthAdaptiveLambda } from "./length-adaptive-lambda.ts";
export { fitNormaliser, type NormaliseMethod, type Normaliser, normaliseReward } from "./normalise-rewards.ts";
export { type PerDomainOptions, perDomain } from "./per-domain.ts";
export { perRole } from "./per-role.ts";
export { type PerTurnOptions, perTurn } from "./per-turn.ts";
export {
  type ReinforcePlusPlusCreditOptions,
  reinforcePlusPlusBaselineCredit,
  reinforcePlusPlusCredit,
} from "./reinforce-plus-plus.ts";
export { type RelativeOptions, relativeAdvantages } from "./relative-advantages.ts";
export { remaxCredit } from "./remax-credit.ts";
export { type RetraceInput, type RetraceOptions, retrace, retraceTargets } from "./retrace.ts";
export { returnsToGo } from "./returns-to-go.ts";
export { skipUniform } from "./skip-uniform.ts";
export { isUniform, meanOf, type StdKind, stdOf, whitenMasked } from "./statistics.ts";
export { type StepGaeOptions, stepGae } from "./step-gae.ts";
export { type Step, stepsOf } from "./steps.ts";
export { compressedGae, type TokenGaeInput, tokenGae } from "./token-gae.ts";
export { tokenRewards } from "./token-rewards.ts";
export { type TopDeviationOptions, topDeviation } from "./top-deviation.ts";
export { type VTraceInput, type VTraceOptions, vTrace, vTraceTargets } from "./v-trace.ts";
export { taskValue, type ValueReplacementOptions, valueReplacement } from "./value-replacement.ts";
