import "../check-node.ts";

export { cutText } from "../cut-text.ts";
export { type AgentsFile, type AgentsFileOptions, agentsFile } from "./agents-file.ts";
export { type CallLimits, type CallResult, callTool, type SaidToolCall } from "./call-tool.ts";
export { codeReminder } from "./code-tools/code-reminder.ts";
export { codeTools } from "./code-tools/code-tools.ts";
export type { CodeEvent, CodeToolsOptions, TestsCommand } from "./code-tools/workspace.ts";
export { type InlineToolOptions, type IsolatedToolOptions, type ToolOptions, tool } from "./define-tool.ts";
export type {
  McpAnswers,
  McpAskContext,
  McpElicited,
  McpElicitRequest,
  McpSampled,
  McpSampleRequest,
} from "./mcp-answers.ts";
export type { McpContext, McpPrompt, McpResource } from "./mcp-context.ts";
export type { McpCommand, McpProtocol, McpServer, McpUrl } from "./mcp-server.ts";
export { type McpTools, type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
export type { CallEnd, GuardDecision, GuardedCall, ToolGuard } from "./permission/guard.ts";
export type { AfterHook, BeforeHook, HookDecision, PermissionOptions, Person } from "./permission/permissions.ts";
export type { ArgumentTest, CallPattern, Permission, PermissionRule, ScriptedAnswer } from "./permission/rules.ts";
export { type BubblewrapSandboxOptions, bubblewrapSandbox } from "./sandbox/bubblewrap-sandbox.ts";
export { type ContainerSandboxOptions, containerSandbox } from "./sandbox/container-sandbox.ts";
export { type E2bBox, type E2bSandboxOptions, e2bSandbox } from "./sandbox/e2b-sandbox.ts";
export { processSandbox } from "./sandbox/process-sandbox.ts";
export {
  type PythonEvaluation,
  type PythonEvaluator,
  type PythonEvaluatorOptions,
  pythonEvaluator,
} from "./sandbox/python-evaluator.ts";
export { type RemoteSandboxOptions, remoteSandbox } from "./sandbox/remote-sandbox.ts";
export { requireLevel, type SandboxInfo, sandboxInfo } from "./sandbox/require-level.ts";
export {
  type Box,
  type BoxSpec,
  type Ended,
  type ExecOptions,
  type Image,
  type Sandbox,
  type SandboxLevel,
  sandboxLevels,
} from "./sandbox/sandbox.ts";
export { loadSkills, type Skill } from "./skill/load-skills.ts";
export { type NewSkill, saveSkill } from "./skill/save-skill.ts";
export { skillsContext, skillTools } from "./skill/skill-tools.ts";
export type { OutputOf, StandardIssue, StandardResult, StandardSchema } from "./standard-schema.ts";
export { type CheckedInput, type Tool, type ToolContext, ToolError } from "./tool.ts";
