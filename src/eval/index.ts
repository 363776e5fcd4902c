export { budgetCurve, evaluateSplits } from "./budget-curve.ts";
export { type ContaminationOptions, type ContaminationReport, contamination, openingTexts } from "./contamination.ts";
export { type EvalOptions, type EvalReport, evalDefaults, evaluate } from "./evaluate.ts";
export { clusteredInterval, type Interval, meanInterval, successInterval, wilson } from "./interval.ts";
export { bestOf, majorityAnswer, passAtK, passHatK } from "./pass-rates.ts";
export { bestOfN, majorityVote } from "./select-attempts.ts";
