export type { ErrorData } from "./error-data.ts";
export type { IsolatedResult, IsolatedRun } from "./isolated-result.ts";
export {
  type JavaScriptTest,
  type JavaScriptTestReport,
  type JavaScriptTestResult,
  type JavaScriptTestsOptions,
  runJavaScriptTests,
} from "./javascript-tests.ts";
export {
  defaultIsolatedLimits,
  defaultJavaScriptTestLimits,
  defaultProcessLimits,
  type IsolatedLimits,
  type JavaScriptTestLimits,
  type ProcessLimits,
} from "./limits.ts";
export type { LimitNotApplied } from "./resource-limits.ts";
export {
  type IsolatedCallOptions,
  type IsolatedOptions,
  type IsolatedRunner,
  type IsolatedStats,
  isolated,
} from "./run-isolated.ts";
export {
  defaultProcessEnv,
  type ProcessEnd,
  type ProcessRequest,
  type ProcessResult,
  runProcess,
} from "./run-process.ts";
