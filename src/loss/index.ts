import "../check-node.ts";

export type { Aggregation } from "./aggregation.ts";
export { type CispoLossOptions, cispoLoss } from "./cispo-loss.ts";
export { addMetrics, scaleLoss, sumLosses } from "./combine.ts";
export {
  type Correction,
  type CorrectionLevel,
  fullRatio,
  maskedRatio,
  sequenceDivergenceMask,
  sequenceRatioMask,
  truncatedRatio,
} from "./corrections.ts";
export { type DpoLossChoice, dpoLoss } from "./dpo-loss.ts";
export { type EntropyBonusOptions, entropyBonus } from "./entropy-bonus.ts";
export { type ImitationOptions, imitation } from "./imitation.ts";
export { type KlEstimator, type KlOptions, klPenalty, klValue } from "./kl.ts";
export { type AdaptiveKlOptions, adaptiveKl, fixedKl, type KlController } from "./kl-controller.ts";
export { type KtoLossOptions, ktoLoss } from "./kto-loss.ts";
export type { Loss, LossNeeds, LossResult, LossRow, LossTotals } from "./loss.ts";
export { type PolicyGradientOptions, policyGradient, type TermOf, type TokenTerm } from "./policy-gradient.ts";
export { type PositiveNllOptions, positiveNll } from "./positive-nll.ts";
export { type PpoClipOptions, ppoClip } from "./ppo-clip.ts";
export { reinforce } from "./reinforce.ts";
export { outcomeRewardModel, processRewardModel } from "./reward-model.ts";
export { searchDistillation } from "./search-distillation.ts";
export { type CountedRow, totalsOf } from "./totals.ts";
export { type ValueLossOptions, valueLoss } from "./value-loss.ts";
export { type WebRlSmoothOptions, webRlSmooth, webRlSquared } from "./web-rl.ts";
