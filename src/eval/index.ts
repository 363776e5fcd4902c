import "../check-node.ts";

export { budgetCurve, evaluateSplits } from "./budget-curve.ts";
export { type ContaminationOptions, type ContaminationReport, contamination } from "./contamination.ts";
export { type EvalOptions, type EvalReport, evalDefaults, evaluate } from "./evaluate.ts";
export {
  type BootstrapOptions,
  clusteredInterval,
  type Interval,
  meanInterval,
  pairedDifference,
  wilson,
} from "./interval.ts";
export { passAtK, passHatK } from "./pass-rates.ts";
export { bestOfN, majorityVote } from "./select-attempts.ts";
export { studentQuantile } from "./student.ts";
export { passAtKInterval, passHatKInterval, successInterval } from "./success-interval.ts";
