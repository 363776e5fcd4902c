export { requireBubblewrap, whyNoBubblewrap } from "./bubblewrap-available.ts";
export { type BubblewrapSandboxOptions, bubblewrapSandbox, defaultBubblewrapLimits } from "./bubblewrap-sandbox.ts";
export { type ContainerSandboxOptions, containerSandbox } from "./container-sandbox.ts";
export { defaultSandbox } from "./default-sandbox.ts";
export { describeEnd } from "./describe-end.ts";
export { type E2bBox, type E2bSandboxOptions, e2bSandbox } from "./e2b-sandbox.ts";
export { EpisodeBox } from "./episode-box.ts";
export type { ErrorData } from "./error-data.ts";
export { type BoxMount, type FolderBoxHost, type FolderCommand, openFolderBox } from "./folder-box.ts";
export type { IsolatedContext } from "./isolate.ts";
export type { TestLevel } from "./javascript-session.ts";
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
export {
  type PythonEvaluation,
  type PythonEvaluator,
  type PythonEvaluatorOptions,
  pythonEvaluator,
} from "./python-evaluator.ts";
export {
  defaultPythonTestLimits,
  type PythonTest,
  type PythonTestLimits,
  type PythonTestReport,
  type PythonTestResult,
  type PythonTestsOptions,
  runPythonTests,
} from "./python-tests.ts";
export { type RemoteSandboxOptions, remoteSandbox } from "./remote-sandbox.ts";
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
