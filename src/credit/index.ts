import "../check-node.ts";

export { type CreditAttempt, groupAttempts } from "./attempts.ts";
export { type BiLevelGaeOptions, biLevelGae } from "./bi-level-gae.ts";
export { codeRlCredit } from "./code-rl-credit.ts";
export type { Credit, CreditNeeds, CreditResult, CreditRow, CreditTurn } from "./credit.ts";
export { creditResult } from "./credit-result.ts";
export { type DynamicSamplingOptions, dynamicSampling } from "./dynamic-sampling.ts";
export type { PassOptions } from "./filter-choice.ts";
export { type GaeOptions, gae, type Lambda } from "./gae.ts";
export { type GigpoCreditChoice, gigpoCredit } from "./gigpo-credit.ts";
export type { FilterChoice, FilterGroup, GroupFilter } from "./group-filter.ts";
export { drGrpoCredit, groupRelative } from "./group-relative.ts";
export { keepAllGroups } from "./keep-all-groups.ts";
export { leaveOneOut } from "./leave-one-out.ts";
export { lengthAdaptiveLambda } from "./length-adaptive-lambda.ts";
export { type PerDomainOptions, perDomain } from "./per-domain.ts";
export { perRole } from "./per-role.ts";
export {
  type ReinforcePlusPlusCreditOptions,
  reinforcePlusPlusBaselineCredit,
  reinforcePlusPlusCredit,
} from "./reinforce-plus-plus.ts";
export { type RelativeChoice, type RelativeOptions, relativeAdvantages } from "./relative-advantages.ts";
export { remaxCredit } from "./remax-credit.ts";
export { type RetraceOptions, retrace } from "./retrace.ts";
export { skipUniform } from "./skip-uniform.ts";
export type { StdKind } from "./statistics.ts";
export { type StepGaeOptions, stepGae } from "./step-gae.ts";
export { type TopDeviationOptions, topDeviation } from "./top-deviation.ts";
export { type VTraceOptions, vTrace } from "./v-trace.ts";
export { type ValueReplacementOptions, valueReplacement } from "./value-replacement.ts";
