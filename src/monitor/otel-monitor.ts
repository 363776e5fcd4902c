import { wallClock } from "../clock.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Monitor } from "./monitor.ts";
import { type PlannedSpan, rolloutSpan } from "./otel/rollout-spans.ts";
import { type HrTime, loadTracingApi, type Span, type Tracer, type TracingApi } from "./otel/tracer.ts";

export type { Tracer } from "./otel/tracer.ts";

export interface OtelMonitorOptions {
  /** By default the tracer `ludus` of the registered provider. */
  tracer?: Tracer;
  /** The agent's name; by default the name of the run. */
  agent?: string;
  /** The model's name. */
  model: string;
  /** Also messages, arguments and results. They may be large, and hold whatever the tasks hold. */
  content: boolean;
  /** Milliseconds since 1970. */
  now: () => number;
}

const knownOtelMonitorOptions: KnownOptions<OtelMonitorOptions> = {
  tracer: true,
  agent: true,
  model: true,
  content: true,
  now: true,
};

const defaults = { model: "policy", content: false };

/**
 * Sends each rollout of training as OpenTelemetry spans, under the conventions for generative AI. Needs `@opentelemetry/api`,
 * and an SDK that sends spans somewhere:
 *
 *     new NodeSDK({ traceExporter }).start();
 *     await train({ …, monitors: [await otelMonitor()] });
 */
export async function otelMonitor(options: Partial<OtelMonitorOptions> = {}): Promise<Monitor> {
  refuseUnknownOptions("otelMonitor", options, knownOtelMonitorOptions);
  const api = await loadTracingApi();
  const { model, content, tracer = api.tracer("ludus"), now = wallClock } = { ...defaults, ...options };
  let agent = options.agent ?? "agent";
  return {
    name: "otel",
    record(event) {
      if (event.type === "run-start") agent = options.agent ?? event.name;
    },
    recordRollout(rollout) {
      const began = now() - rollout.timing.totalMs;
      send(api, tracer, rolloutSpan(rollout, { agent, model, content }), began);
    },
  };
}

function send(api: TracingApi, tracer: Tracer, plan: PlannedSpan, began: number, parent?: Span): void {
  const startTime = hrTime(began + plan.startMs);
  const endTime = hrTime(began + plan.endMs);
  const span = api.start(tracer, parent, plan.name, { startTime, attributes: plan.attributes });
  for (const child of plan.children) send(api, tracer, child, began, span);
  for (const { name, attributes } of plan.events) span.addEvent(name, attributes, endTime);
  if (plan.error !== undefined) span.setStatus({ code: api.errorStatus, message: plan.error });
  span.end(endTime);
}

/** As a pair: the SDK takes a small number for one of `performance.now()`. */
function hrTime(milliseconds: number): HrTime {
  const seconds = Math.floor(milliseconds / 1000);
  return [seconds, Math.round((milliseconds - 1000 * seconds) * 1e6)];
}
