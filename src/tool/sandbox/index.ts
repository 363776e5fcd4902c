export { describeEnd } from "./describe-end.ts";
export { EpisodeBox } from "./episode-box.ts";
export type { ErrorData } from "./error-data.ts";
export { type FolderBoxHost, type FolderCommand, openFolderBox } from "./folder-box.ts";
export type { IsolatedContext } from "./isolate.ts";
export {
  type JavaScriptTest,
  type JavaScriptTestReport,
  type JavaScriptTestResult,
  type JavaScriptTestsOptions,
  runJavaScriptTests,
} from "./javascript-tests.ts";
export {
  type CommandLimits,
  defaultCommandLimits,
  defaultIsolatedLimits,
  defaultJavaScriptTestLimits,
  type IsolatedLimits,
  type JavaScriptTestLimits,
  type LimitNotApplied,
  maxReadBytes,
} from "./limits.ts";
export { type ProcessSandboxOptions, processSandbox } from "./process-sandbox.ts";
export { isAtLeast, requireLevel, type SandboxInfo, sandboxInfo } from "./require-level.ts";
export { type IsolatedOptions, type IsolatedRunner, type IsolatedStats, isolated } from "./run-isolated.ts";
export { defaultProcessEnv, type ProcessRequest, runProcess } from "./run-process.ts";
export {
  type Box,
  type BoxSpec,
  type End,
  type Ended,
  type ExecOptions,
  type FunctionCallOptions,
  type FunctionEnd,
  type FunctionEnded,
  type FunctionRunner,
  type Image,
  type Sandbox,
  type SandboxLevel,
  sandboxLevels,
} from "./sandbox.ts";
