import "../check-node.ts";

export type { AgentAttempt } from "./agent-attempt.ts";
export { type AgentDefinition, type AgentExpertContext, agentEnv } from "./agent-env.ts";
export type { AgentGatewayOptions } from "./agent-gateway.ts";
export { type A2aAgentOptions, a2aAgent } from "./agents/a2a-agent.ts";
export { type CommandAgentOptions, commandAgent } from "./agents/command-agent.ts";
export { type HttpAgentOptions, httpAgent } from "./agents/http-agent.ts";
export type { ModelAccess } from "./agents/model-access.ts";
export { type BoxServer, type BoxServerOptions, serveBoxes } from "./box-server.ts";
export { type Capture, type Captured, createCapture } from "./capture.ts";
export { type CheckAgentOptions, checkAgent } from "./check-agent.ts";
export type { Environments } from "./dashboard/play-routes.ts";
export type { LoadEnv } from "./dashboard/run-environments.ts";
export { type Dashboard, type DashboardOptions, serveDashboard } from "./dashboard-server.ts";
export { type LoadOptions, loadServedModel } from "./load-served-model.ts";
export type { RecordedRollouts, RecordOptions } from "./model/recorded-rollouts.ts";
export type { RecordedRollout, RolloutEnd } from "./model/recorder.ts";
export type { ServedModel } from "./model/served-model.ts";
export { type ModelServer, type ServeModelOptions, serveModel } from "./openai-server.ts";
export { type Canary, type CanaryOptions, type CanaryState, createCanary } from "./production/canary.ts";
export {
  type ProductionFeedback,
  type ProductionOptions,
  type ProductionOutcome,
  type ProductionRecords,
  type ProductionSession,
  productionRecords,
  productionSplit,
} from "./production/production-records.ts";
export { type ShadowAnswer, type ShadowOptions, type ShadowReport, shadowEvaluate } from "./production/shadow.ts";
export { serveTools, type ToolServer, type ToolServerOptions } from "./tool-server.ts";
export type { ActionTool, ExtraFields, ToolOutcome, ToolTrajectory } from "./tools/action-tool.ts";
export {
  type CodeToolOptions,
  pythonAction,
  type SqlActionOptions,
  shellAction,
  sqlAction,
} from "./tools/code-tools.ts";
export { mcpAction, type SearchActionOptions, type SearchDocument, searchAction } from "./tools/lookup-tools.ts";
