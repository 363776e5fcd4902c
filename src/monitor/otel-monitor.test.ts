import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { expect, test } from "vitest";
import { makeTrajectory, type Trajectory } from "../schema/trajectory.ts";
import type { CallRecord } from "../schema/turn.ts";
import { monitorContract } from "./monitor.contract.ts";
import type { FinishedRollout } from "./monitor.ts";
import { type OtelMonitorOptions, otelMonitor } from "./otel-monitor.ts";

const call: CallRecord = { name: "search", arguments: { query: "tea" }, outcome: "ok", observation: "green" };
const told = { reward: 0, observation: "" };

/** Four tokens are read, three said with a call in them, two read, two said. */
function spoken(fields: Partial<Trajectory> = {}): Trajectory {
  const mask_T = Uint8Array.of(0, 0, 0, 0, 1, 1, 1, 0, 0, 1, 1);
  return makeTrajectory({
    id: "r/agent",
    rollout: "r",
    taskId: "t",
    role: "agent",
    weights: "policy",
    weight: 1,
    temperature: 0.7,
    tokens_T: new Int32Array(11),
    mask_T,
    logprobs_T: new Float32Array(11),
    stop: "completed",
    versions_T: Int32Array.from(mask_T, (mask) => (mask === 1 ? 5 : -1)),
    turns: [
      {
        ...told,
        span: { start: 4, end: 7 },
        text: "search tea",
        calls: [call, { ...call, name: "", outcome: "malformed" }],
      },
      { ...told, span: { start: 9, end: 11 }, text: "green", calls: [], reward: 1 },
    ],
    score: { total: 1.5, parts: { outcome: 1, format: 0.5 }, success: true },
    ...fields,
  });
}

const rollout: FinishedRollout = {
  id: "step-3/0/1",
  task: { id: "t", seed: 1, data: {} },
  trajectories: [spoken()],
  stop: "completed",
  timing: {
    totalMs: 100,
    turns: [
      { role: "agent", startMs: 10, saidMs: 30, endMs: 45 },
      { role: "agent", startMs: 50, saidMs: 90, endMs: 91 },
    ],
  },
};

/** The spans as an SDK sends them, in the order they began. */
async function sent(told: FinishedRollout, options: Partial<OtelMonitorOptions> = {}) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  const tracer = provider.getTracer("test");
  const monitor = await otelMonitor({ tracer, now: () => 1_700_000_000_100, ...options });
  monitor.record({ type: "run-start", name: "search-qa" });
  monitor.recordRollout?.(told);
  const milliseconds = ([seconds, nanos]: [number, number]) => (seconds - 1_700_000_000) * 1000 + nanos / 1e6;
  return exporter
    .getFinishedSpans()
    .map((span) => ({
      ...span,
      at: [milliseconds(span.startTime), milliseconds(span.endTime)],
      id: span.spanContext(),
    }))
    .sort((a, b) => a.at[0] - b.at[0]);
}

test("a rollout is an agent's span with a chat for each turn and a tool for each call, at their times", async () => {
  const spans = await sent(rollout);
  expect(spans.map(({ name, at }) => [name, at])).toEqual([
    ["invoke_agent search-qa", [0, 100]],
    ["chat policy", [10, 30]],
    ["execute_tool search", [30, 45]],
    ["execute_tool unknown", [30, 45]],
    ["chat policy", [50, 90]],
  ]);
  const [root, ...inner] = spans;
  expect(root.parentSpanContext).toBeUndefined();
  for (const span of inner) {
    expect(span.parentSpanContext?.spanId).toBe(root.id.spanId);
    expect(span.id.traceId).toBe(root.id.traceId);
  }
});

test("attributes have the names of the conventions", async () => {
  const [root, first, tool, broken, last] = await sent(rollout);
  expect(root.attributes).toMatchObject({
    "gen_ai.operation.name": "invoke_agent",
    "gen_ai.provider.name": "ludus",
    "gen_ai.agent.name": "search-qa",
    "gen_ai.conversation.id": "step-3/0/1",
    "gen_ai.request.model": "policy",
    "gen_ai.request.temperature": 0.7,
    "gen_ai.usage.input_tokens": 13,
    "gen_ai.usage.output_tokens": 5,
    "ludus.task.id": "t",
    "ludus.stop": "completed",
    "ludus.reward": 1.5,
    "ludus.success": true,
    "ludus.turns": 2,
  });
  expect(first.attributes).toMatchObject({
    "gen_ai.operation.name": "chat",
    "gen_ai.usage.input_tokens": 4,
    "gen_ai.usage.output_tokens": 3,
    "gen_ai.response.finish_reasons": ["tool_call"],
    "ludus.policy.version": 5,
  });
  expect(last.attributes).toMatchObject({ "gen_ai.response.finish_reasons": ["stop"], "ludus.reward": 1 });
  expect(tool.attributes).toEqual({
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.provider.name": "ludus",
    "gen_ai.tool.name": "search",
    "gen_ai.tool.type": "function",
    "gen_ai.tool.call.id": "call_0",
  });
  expect(broken).toMatchObject({ attributes: { "error.type": "malformed" }, status: { code: 2 } });
});

test("rewards are evaluation results", async () => {
  const [root] = await sent(rollout);
  expect(root.events.map(({ name, attributes }) => [name, attributes])).toEqual(
    [
      { "gen_ai.evaluation.name": "outcome", "gen_ai.evaluation.score.value": 1, "ludus.role": "agent" },
      { "gen_ai.evaluation.name": "format", "gen_ai.evaluation.score.value": 0.5, "ludus.role": "agent" },
      {
        "gen_ai.evaluation.name": "total",
        "gen_ai.evaluation.score.value": 1.5,
        "ludus.role": "agent",
        "gen_ai.evaluation.score.label": "pass",
      },
    ].map((attributes) => ["gen_ai.evaluation.result", attributes]),
  );
});

test("what was said is in them only where it is asked for", async () => {
  const silent = JSON.stringify((await sent(rollout)).map(({ attributes }) => attributes));
  expect(silent).not.toMatch(/tea|green/);
  const [, first, tool] = await sent(rollout, { content: true, model: "mine" });
  expect(first.name).toBe("chat mine");
  expect(JSON.parse(String(first.attributes["gen_ai.output.messages"]))).toEqual([
    { role: "assistant", parts: [{ type: "text", content: "search tea" }], finish_reason: "tool_call" },
  ]);
  expect(tool.attributes).toMatchObject({
    "gen_ai.tool.call.arguments": '{"query":"tea"}',
    "gen_ai.tool.call.result": "green",
  });
});

test("an infrastructure failure is an error, and one without turns a span alone", async () => {
  const failed = { ...rollout, trajectories: [], stop: "env-crash", failure: "out of ice" } as const;
  const [root, ...inner] = await sent(failed);
  expect(root).toMatchObject({ status: { code: 2, message: "out of ice" }, attributes: { "error.type": "env-crash" } });
  expect(inner).toEqual([]);
});

test("turns of several roles follow each other as they were taken", async () => {
  const one = (role: string, text: string) =>
    spoken({ role, turns: [{ ...told, span: { start: 4, end: 11 }, text, calls: [] }] });
  const turns = [
    { role: "black", startMs: 1, saidMs: 2, endMs: 3 },
    { role: "white", startMs: 4, saidMs: 5, endMs: 6 },
  ];
  const game = { ...rollout, trajectories: [one("white", "w"), one("black", "b")], timing: { totalMs: 9, turns } };
  const [root, ...inner] = await sent(game);
  expect(inner.map(({ attributes }) => attributes["ludus.role"])).toEqual(["black", "white"]);
  expect(root.events).toHaveLength(6);
});

monitorContract("otelMonitor", () => otelMonitor());

test("a tool's name that the policy made up is cut", async () => {
  const turn = { ...told, span: { start: 4, end: 11 }, text: "", calls: [{ ...call, name: "x".repeat(1_000_000) }] };
  const [, , tool] = await sent({
    ...rollout,
    trajectories: [spoken({ turns: [turn] })],
    timing: { totalMs: 9, turns: [{ role: "agent", startMs: 1, saidMs: 2, endMs: 3 }] },
  });
  expect([tool.name.length, String(tool.attributes["gen_ai.tool.name"]).length]).toEqual([141, 128]);
});

test("a rollout whose turns nobody timed is one span, with its reward also where it is no number", async () => {
  const score = { total: Number.NaN, parts: {}, success: false };
  const spans = await sent({ ...rollout, trajectories: [spoken({ score })], timing: { totalMs: 5 } });
  expect(spans.map(({ name }) => name)).toEqual(["invoke_agent search-qa"]);
  expect(spans[0].attributes["ludus.reward"]).toBeNaN();
});

test("two runs at once keep their names", async () => {
  const exporter = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }).getTracer("test");
  const monitors = await Promise.all(["a", "b"].map(() => otelMonitor({ tracer })));
  for (const [i, monitor] of monitors.entries()) monitor.record({ type: "run-start", name: `run-${i}` });
  for (const monitor of monitors) monitor.recordRollout?.({ ...rollout, timing: { totalMs: 1 } });
  expect(exporter.getFinishedSpans().map(({ name }) => name)).toEqual(["invoke_agent run-0", "invoke_agent run-1"]);
});

test("a tracer that throws is not swallowed, so that the run leaves the monitor out", async () => {
  const tracer = {
    startSpan: () => {
      throw new Error("exporter is gone");
    },
  };
  const monitor = await otelMonitor({ tracer });
  expect(() => monitor.recordRollout?.(rollout)).toThrow("exporter is gone");
});
