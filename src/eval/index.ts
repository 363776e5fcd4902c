export { type EvalOptions, type EvalReport, evalDefaults, evaluate } from "./evaluate.ts";
export { clusteredInterval, type Interval, meanInterval, wilson } from "./interval.ts";
export { bestOf, majorityAnswer, passAtK, passHatK } from "./pass-rates.ts";
