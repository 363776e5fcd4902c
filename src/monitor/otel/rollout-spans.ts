import { defined } from "../../defined.ts";
import { infrastructureStops, type StopReason } from "../../schema/stop-reason.ts";
import type { Trajectory } from "../../schema/trajectory.ts";
import type { CallRecord, Turn } from "../../schema/turn.ts";
import type { FinishedRollout } from "../monitor.ts";
import type { Attributes } from "./tracer.ts";

/** A span and those inside it; times are milliseconds since the rollout began. */
export interface PlannedSpan {
  readonly name: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: Attributes;
  readonly error?: string;
  readonly events: readonly { readonly name: string; readonly attributes: Attributes }[];
  readonly children: readonly PlannedSpan[];
}

export interface SpanOptions {
  readonly agent: string;
  readonly model: string;
  /** Also messages, arguments and results. */
  readonly content: boolean;
}

/** Names of tools come from the policy: backends refuse or index spans by name, so they are bounded. */
const maxNameChars = 128;
const isInfrastructure = (stop: StopReason) => (infrastructureStops as readonly string[]).includes(stop);

/**
 * A rollout under the names of OpenTelemetry's conventions for generative AI: `invoke_agent`, in it a `chat` for each turn and
 * an `execute_tool` for each call. Rewards are `gen_ai.evaluation.result` events; what has no name there is under `ludus.`.
 */
export function rolloutSpan(rollout: FinishedRollout, options: SpanOptions): PlannedSpan {
  const { id, task, trajectories, stop, failure, timing } = rollout;
  const [first] = trajectories;
  const turns = turnsInOrder(rollout);
  return {
    name: `invoke_agent ${options.agent}`,
    startMs: 0,
    endMs: timing.totalMs,
    attributes: {
      ...common("invoke_agent"),
      "gen_ai.agent.name": options.agent,
      "gen_ai.conversation.id": id,
      "gen_ai.request.model": options.model,
      "gen_ai.usage.input_tokens": turns.reduce((sum, { turn }) => sum + turn.span.start, 0),
      "gen_ai.usage.output_tokens": turns.reduce((sum, { turn }) => sum + outputTokens(turn), 0),
      ...defined({ "gen_ai.request.temperature": first === undefined ? undefined : first.temperature }),
      "ludus.task.id": task.id,
      "ludus.stop": stop,
      "ludus.turns": turns.length,
      ...(first === undefined ? {} : { "ludus.reward": first.score.total, "ludus.success": first.score.success }),
      ...defined({ "error.type": isInfrastructure(stop) ? stop : undefined }),
    },
    ...defined({ error: isInfrastructure(stop) ? (failure ?? stop) : undefined }),
    events: trajectories.filter(isFirstOfRole).flatMap(rewardEvents),
    children: turns.flatMap((each, i) => turnSpans(each, options, i === turns.length - 1 ? stop : undefined)),
  };
}

interface TimedTurn {
  readonly turn: Turn;
  readonly trajectory: Trajectory;
  readonly startMs: number;
  readonly saidMs: number;
  readonly endMs: number;
}

/** Turns in the order they were taken, which is also their order within each role. None where turns were not timed. */
function turnsInOrder({ trajectories, timing }: FinishedRollout): TimedTurn[] {
  const waiting = Map.groupBy(
    trajectories.flatMap((trajectory) => trajectory.turns.map((turn) => ({ turn, trajectory }))),
    ({ trajectory }) => trajectory.role,
  );
  return (timing.turns ?? []).flatMap(({ role, ...times }) => {
    const next = waiting.get(role)?.shift();
    return next === undefined ? [] : [{ ...next, ...times }];
  });
}

function turnSpans({ turn, trajectory, startMs, saidMs, endMs }: TimedTurn, options: SpanOptions, stop?: StopReason) {
  const reason = finishReason(turn, stop);
  const said: PlannedSpan = {
    name: `chat ${options.model}`,
    startMs,
    endMs: saidMs,
    events: [],
    children: [],
    attributes: {
      ...common("chat"),
      "gen_ai.request.model": options.model,
      "gen_ai.response.model": options.model,
      "gen_ai.request.temperature": trajectory.temperature,
      "gen_ai.response.finish_reasons": [reason],
      "gen_ai.usage.input_tokens": turn.span.start,
      "gen_ai.usage.output_tokens": outputTokens(turn),
      "ludus.role": trajectory.role,
      "ludus.reward": turn.reward,
      "ludus.policy.version": trajectory.versions_T[turn.span.end - 1] ?? -1,
      ...defined({ "gen_ai.output.messages": options.content ? outputMessages(turn, reason) : undefined }),
    },
  };
  // calls of one turn run one after the other, and only the end of the last is recorded
  return [said, ...turn.calls.map((call, i) => callSpan(call, `call_${i}`, saidMs, endMs, options))];
}

function callSpan(call: CallRecord, id: string, startMs: number, endMs: number, { content }: SpanOptions): PlannedSpan {
  const name = call.name.slice(0, maxNameChars) || "unknown";
  const isOk = call.outcome === "ok";
  return {
    name: `execute_tool ${name}`,
    startMs,
    endMs,
    events: [],
    children: [],
    attributes: {
      ...common("execute_tool"),
      "gen_ai.tool.name": name,
      "gen_ai.tool.type": "function",
      "gen_ai.tool.call.id": id,
      ...defined({ "error.type": isOk ? undefined : call.outcome }),
      ...(content
        ? {
            "gen_ai.tool.call.arguments": JSON.stringify(call.arguments),
            "gen_ai.tool.call.result": call.observation,
          }
        : {}),
    },
    ...defined({ error: isOk ? undefined : call.outcome }),
  };
}

function common(operation: string): Attributes {
  return { "gen_ai.operation.name": operation, "gen_ai.provider.name": "ludus" };
}

function outputTokens({ span }: Turn): number {
  return span.end - span.start;
}

function finishReason({ calls }: Turn, stop: StopReason | undefined): string {
  if (stop === "max-tokens" || stop === "context-full") return "length";
  return calls.length > 0 ? "tool_call" : "stop";
}

function outputMessages({ text }: Turn, reason: string): string {
  return JSON.stringify([{ role: "assistant", parts: [{ type: "text", content: text }], finish_reason: reason }]);
}

function isFirstOfRole({ role }: Trajectory, index: number, all: readonly Trajectory[]): boolean {
  return all.findIndex((each) => each.role === role) === index;
}

function rewardEvents({ role, score }: Trajectory) {
  const label = score.success ? "pass" : "fail";
  return Object.entries({ ...score.parts, total: score.total }).map(([part, value]) => ({
    name: "gen_ai.evaluation.result",
    attributes: {
      "gen_ai.evaluation.name": part,
      "gen_ai.evaluation.score.value": value,
      "ludus.role": role,
      ...defined({ "gen_ai.evaluation.score.label": part === "total" ? label : undefined }),
    },
  }));
}
