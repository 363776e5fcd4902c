import "../check-node.ts";

export type {
  AttemptContext,
  AttemptOutput,
  Benchmark,
  BenchmarkMessage,
  BenchmarkScore,
  BenchmarkTask,
  Chat,
  ChatReply,
  ChatRequest,
} from "./benchmarks/benchmark.ts";
export type { BenchmarkReport } from "./benchmarks/benchmark-report.ts";
export { type ChatModel, type ChatModelOptions, chatModel, type TokenUsage } from "./benchmarks/chat-model.ts";
export { benchmarks } from "./benchmarks/index.ts";
export { type AttemptRecord, openResults, type ResultsFile, type ResultsHeader } from "./benchmarks/results-file.ts";
export { type BenchmarkOptions, runBenchmark } from "./benchmarks/run-benchmark.ts";
export { type SweBenchOptions, sweBench } from "./benchmarks/swe-bench.ts";
export { modelUser, scriptedUser, type UserModel } from "./benchmarks/user-model.ts";
export { budgetCurve, evaluateSplits } from "./budget-curve.ts";
export { type ContaminationOptions, type ContaminationReport, contamination } from "./contamination.ts";
export { type ContextMismatch, contextMismatch } from "./context-mismatch.ts";
export { type EvalOptions, type EvalReport, evalDefaults, evaluate } from "./evaluate.ts";
export {
  type BootstrapOptions,
  clusteredInterval,
  type Interval,
  meanInterval,
  pairedDifference,
  wilson,
} from "./interval.ts";
export { hypervolume, paretoFront } from "./pareto.ts";
export { passAtK, passHatK } from "./pass-rates.ts";
export { bestOfN, majorityVote } from "./select-attempts.ts";
export { studentQuantile } from "./student.ts";
export { passAtKInterval, passHatKInterval, successInterval } from "./success-interval.ts";
