import type { ChatRow, ShareGptRow } from "../schema/index.ts";
import type { StoredTrajectory } from "../store/index.ts";
import type { Columns } from "./write-parquet.ts";

/** Everything about an episode. What has fields of its own choosing is JSON. */
export const trajectoryColumns = {
  step: "int32",
  split: "text",
  id: "text",
  rollout: "text",
  task_id: "text",
  task: "text",
  role: "text",
  weights: "text",
  weight: "double",
  temperature: "double",
  domain: "text?",
  stop: "text",
  failure: "text?",
  success: "boolean",
  reward: "double",
  reward_parts: "text",
  turns: [
    { start: "int32", end: "int32", text: "text", observation: "text", reward: "double", calls: "text", info: "text?" },
  ],
  tokens: ["int32"],
  mask: ["int32"],
  logprobs: ["float"],
  versions: ["int32"],
  advantages: ["float"],
} as const satisfies Columns;

export function trajectoryRow({ summary, task, trajectory, advantages_T }: StoredTrajectory): Record<string, unknown> {
  const { id, rollout, role, weights, weight, temperature, domain, stop, failure, score, turns } = trajectory;
  return {
    step: summary.step,
    split: summary.split,
    id,
    rollout,
    role,
    weights,
    weight,
    temperature,
    domain,
    stop,
    task_id: task.id,
    task: json(task.data),
    failure,
    success: score.success,
    reward: score.total,
    reward_parts: json(score.parts),
    turns: turns.map(({ span, text, observation, reward, calls, info }) => ({
      ...span,
      text,
      observation,
      reward,
      calls: json(calls),
      info: info === undefined ? undefined : json(info),
    })),
    tokens: Array.from(trajectory.tokens_T),
    mask: Array.from(trajectory.mask_T),
    logprobs: Array.from(trajectory.logprobs_T),
    versions: Array.from(trajectory.versions_T),
    advantages: advantages_T === undefined ? undefined : Array.from(advantages_T),
  };
}

/** Numbers that JSON lacks become null. */
function json(value: unknown): string {
  return JSON.stringify(value) ?? "null";
}

/** As Hugging Face chat datasets have them; tools as JSON, for their parameters differ. */
export const chatColumns = {
  messages: [{ role: "text", content: "text", name: "text?" }],
  tools: "text?",
} as const satisfies Columns;

export function chatRow({ messages, tools }: ChatRow): Record<string, unknown> {
  return { messages, tools: tools === undefined ? undefined : JSON.stringify(tools) };
}

export const shareGptColumns = {
  conversations: [{ from: "text", value: "text" }],
  tools: "text?",
} as const satisfies Columns;

export function shareGptRow(row: ShareGptRow): Record<string, unknown> {
  return { ...row };
}
