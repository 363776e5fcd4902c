import "../check-node.ts";

export type { Hint, TaskAnnotations, ToldHint, TurnAnnotations } from "./annotations.ts";
export {
  type ChatExportOptions,
  type ChatRow,
  type ChatRowMessage,
  conversationFromChat,
  conversationToChat,
  readChatJsonl,
  writeChatJsonl,
} from "./chat-jsonl.ts";
export { collect } from "./collect.ts";
export type { Conversation } from "./conversation.ts";
export type { Failure, FailureSource } from "./failure.ts";
export { jsonLine, type LineReader, type Lines, type ReadLinesOptions, textLines } from "./json-lines.ts";
export type { JsonReal } from "./json-real.ts";
export { fromLosslessJson, toLosslessJson } from "./lossless-json.ts";
export type { Message, Role, ToolCall, ToolSpec } from "./message.ts";
export { type PermissionCounts, permissionCounts } from "./permission-counts.ts";
export type { ParentRun, RunEndReason, RunEvent } from "./run-event.ts";
export { runEventFromJson } from "./run-event-json.ts";
export { makeScore, type Score } from "./score.ts";
export {
  conversationFromShareGpt,
  conversationToShareGpt,
  readShareGptJsonl,
  type ShareGptRow,
  writeShareGptJsonl,
} from "./share-gpt.ts";
export {
  type InfrastructureStop,
  infrastructureStops,
  isInfrastructureStop,
  type PolicyStop,
  policyStops,
  type StopReason,
} from "./stop-reason.ts";
export type { Task } from "./task.ts";
export { taskFromJson } from "./task-json.ts";
export { makeTrainBatch, type TrainBatch, type TrainRow } from "./train-batch.ts";
export type { TrainingProgress } from "./training-progress.ts";
export { hintOf, makeTrajectory, type Trajectory } from "./trajectory.ts";
export { decodeTrajectory, encodeTrajectory } from "./trajectory-binary.ts";
export { learnable, makeTrajectoryGroup, type TrajectoryGroup } from "./trajectory-group.ts";
export { type TrajectoryJson, type TurnJson, trajectoryFromJson, trajectoryToJson } from "./trajectory-json.ts";
export { readTrajectoryJsonl, writeTrajectoryJsonl } from "./trajectory-jsonl.ts";
export type { CallOutcome, CallPermission, CallRecord, Span, Turn } from "./turn.ts";
