import { LudusError } from "../../errors.ts";

// What is used of @opentelemetry/api, in its own shapes, so that types do not need the package.

/** Seconds and nanoseconds since 1970. */
export type HrTime = [number, number];
export type Attributes = Record<string, string | number | boolean | string[]>;

export interface Span {
  addEvent(name: string, attributes: Attributes, time: HrTime): unknown;
  setStatus(status: { code: number; message?: string }): unknown;
  end(time: HrTime): void;
}

/** A tracer of OpenTelemetry's API. */
export interface Tracer {
  startSpan(name: string, options: { kind: number; startTime: HrTime; attributes: Attributes }, context: never): Span;
}

export interface TracingApi {
  readonly tracer: (name: string) => Tracer;
  /** Starts a span inside another, or one of its own. */
  readonly start: (tracer: Tracer, parent: Span | undefined, name: string, details: SpanDetails) => Span;
  readonly errorStatus: number;
}

export interface SpanDetails {
  readonly startTime: HrTime;
  readonly attributes: Attributes;
}

/** The package is the user's choice: loaded when the first monitor is made. */
export async function loadTracingApi(): Promise<TracingApi> {
  const { trace, ROOT_CONTEXT, SpanKind, SpanStatusCode } = await import("@opentelemetry/api").catch((cause) => {
    throw new LudusError("no-opentelemetry", {
      got: "no package @opentelemetry/api",
      expected: "it, and an SDK that sends spans somewhere",
      hint: "npm install @opentelemetry/api @opentelemetry/sdk-node",
      cause,
    });
  });
  return {
    tracer: (name) => trace.getTracer(name),
    start(tracer, parent, name, details) {
      // a span of theirs came from startSpan of theirs
      const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent as never);
      return tracer.startSpan(name, { kind: SpanKind.INTERNAL, ...details }, context as never);
    },
    errorStatus: SpanStatusCode.ERROR,
  };
}
