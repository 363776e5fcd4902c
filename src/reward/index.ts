import "../check-node.ts";

export type { DateOrder } from "../scorer/calendar-date.ts";
export {
  absoluteZeroProposer,
  rZeroChallenger,
  ssrInjector,
} from "../scorer/challenger.ts";
export type { CitationRules } from "../scorer/citations.ts";
export type { Countdown } from "../scorer/countdown.ts";
export { dast } from "../scorer/dast.ts";
export type { TagRule } from "../scorer/format-tags.ts";
export { exactMatchScore, normalizeAnswer, substringMatchScore, tokenF1 } from "../scorer/normalize-answer.ts";
export type { BoundingBox, Point } from "../scorer/point-in-box.ts";
export type { StageWeights } from "../scorer/progressive.ts";
export { repetitionShares } from "../scorer/repetition.ts";
export type { SearchR1Weights } from "../scorer/search-r1.ts";
export { firstVisitBonuses, type PotentialOptions, potentialShaping } from "../scorer/subgoals.ts";
export type { SweRlTask } from "../scorer/swe-rl.ts";
export type { ToolRlCall, ToolRlReference } from "../scorer/toolrl.ts";
export type { UiGold } from "../scorer/ui-r1.ts";
export type {
  FuzzyJudge,
  FuzzyQuestion,
  HtmlTarget,
  ReferenceAnswers,
  RequiredContents,
  UrlRule,
} from "../scorer/web-arena-checks.ts";
export type { ShopGoal, ShopProduct, ShopPurchase } from "../scorer/web-shop.ts";
export { agentR1 } from "./agent-r1.ts";
export { type AlphaScheduleOptions, alphaSchedule } from "./alpha-schedule.ts";
export { builtinRewards } from "./builtin-rewards.ts";
export { citesSources } from "./cites-sources.ts";
export { type CodeTestsOptions, codeTests } from "./code-tests.ts";
export { gated, mapTotal, weighted } from "./combinators.ts";
export { type CompositeRewardOptions, composite } from "./composite.ts";
export { type CountdownRewardOptions, countdownReward } from "./countdown-reward.ts";
export { type EnsembleOptions, ensemble } from "./ensemble.ts";
export { allText, type GoldOf, lastText, type TextOf, type TextOptions } from "./episode-text.ts";
export { exactMatch } from "./exact-match.ts";
export { f1 } from "./f1.ts";
export { type FormatOptions, format } from "./format.ts";
export { fuzzyJudge } from "./fuzzy-judge.ts";
export type { ComparedAttempt, ComparedGroup, GroupReward, GroupScore } from "./group-reward.ts";
export { inLanguage, sameLanguage } from "./in-language.ts";
export { type AuditJudgeOptions, auditJudge, type JudgeAudit, type LabelledEpisode } from "./judge/audit-judge.ts";
export { type JudgeBudget, type JudgeLimits, judgeBudget } from "./judge/budget.ts";
export type { JudgeClientOptions } from "./judge/judge-client.ts";
export { type JudgeCache, type JudgeCacheOptions, judgeCache } from "./judge/reply-cache.ts";
export type { Criterion, Rubric } from "./judge/rubric.ts";
export { type JudgeOptions, judge } from "./judge.ts";
export { keepsPolicy, type PolicyRule } from "./keeps-policy.ts";
export {
  type AttemptScorer,
  aggregatedSteps,
  type OutcomeModelOptions,
  outcomeModel,
  type ProcessModelOptions,
  processModel,
  type StepScorer,
} from "./learned.ts";
export {
  type LengthUnit,
  type LinearLengthOptions,
  linearLength,
  type SigmoidLengthOptions,
  sigmoidLength,
  softOverlong,
} from "./length.ts";
export { makeReward, type RewardFacts, warningsOf } from "./make-reward.ts";
export { matchesSchema } from "./matches-schema.ts";
export { math } from "./math.ts";
export { type PointInBoxOptions, pointInBox } from "./point-in-box.ts";
export { type JudgingPolicy, type PolicyJudgeOptions, policyJudge } from "./policy-judge.ts";
export { type RagenFormatOptions, ragenFormat } from "./ragen-format.ts";
export { type RareToolsOptions, rareTools } from "./rare-tools.ts";
export { reSearch } from "./re-search.ts";
export { type ReftOptions, reft } from "./reft.ts";
export { type RelativeJudgeOptions, relativeJudge } from "./relative-judge.ts";
export type { Reward, RewardRange, ScoredEpisode } from "./reward.ts";
export { type Rule, ruleFirst } from "./rule-first.ts";
export { type SameDateOptions, sameDate } from "./same-date.ts";
export { sameMoney } from "./same-money.ts";
export { type SameQuantityOptions, sameQuantity } from "./same-quantity.ts";
export { searchR1, searchR1Format } from "./search-r1.ts";
export { type SqlResultOptions, sqlResult } from "./sql-result.ts";
export { type StagedOptions, staged } from "./staged.ts";
export { type SubgoalsOptions, subgoals } from "./subgoals.ts";
export { substringMatch } from "./substring-match.ts";
export { sweRl } from "./swe-rl.ts";
export { type TauBenchOptions, tauBench } from "./tau-bench.ts";
export { type ThoughtStateOptions, thoughtState } from "./thought-state.ts";
export { type ToolRlRewardOptions, toolRl } from "./tool-rl.ts";
export { type ToolShapingRewardOptions, toolShaping } from "./tool-shaping.ts";
export { uiR1 } from "./ui-r1.ts";
export { type WebArenaOptions, webArena } from "./web-arena.ts";
export { type WebShopRewardOptions, webShopReward } from "./web-shop-reward.ts";
