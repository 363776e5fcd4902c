import { z } from "zod";
import type { ErrorData } from "./error-data.ts";
import type { IsolatedLimits } from "./limits.ts";
import type { End } from "./sandbox.ts";

/** What a worker is told at its start. */
export interface IsolateSetup {
  /** File URL. */
  module: string;
  export: string;
  env: Readonly<Record<string, string>>;
  limits: IsolatedLimits;
  retireHeapBytes: number;
}

/** One call; its arguments, and what it gives, travel as bytes of `v8.serialize`. */
export interface IsolateCall {
  call: number;
  /** The input, and a context where the function is given the state. */
  args: Uint8Array;
}

/** The second argument of a function that is given the episode's state. */
export interface IsolatedContext<State = unknown> {
  /** A copy, to read, to change and to replace. */
  state: State;
}

/** What the bytes of a call hold. */
export type IsolateArgs = [input: unknown] | [input: unknown, context: IsolatedContext];

/** What the bytes of an answer hold. */
export type IsolateAnswer = [value: unknown] | [value: unknown, state: unknown];

const errorData = z.object({ name: z.string(), message: z.string(), stack: z.string().optional() });

// `retire`: the worker is sound enough to have answered, not to be used again
export const isolateMessage = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("load-failed"), error: errorData }),
  z.object({ type: z.literal("output"), text: z.string() }),
  z.object({ type: z.literal("output-limit"), bytes: z.number() }),
  z.object({ type: z.literal("retire") }),
  z.object({ type: z.literal("returned"), call: z.number(), value: z.instanceof(Uint8Array), retire: z.boolean() }),
  z.object({ type: z.literal("threw"), call: z.number(), error: errorData, retire: z.boolean() }),
]);
export type IsolateMessage = z.infer<typeof isolateMessage>;

/** How a worker ended by itself. */
export type IsolateEnd =
  | { kind: "out-of-memory" }
  | Extract<End, { kind: "exited" | "not-started" }>
  | ({ kind: "threw" } & ErrorData);

export interface IsolateEvents {
  message(message: IsolateMessage): void;
  output(text: string): void;
  /** Once, and last: the thread or process is gone. */
  ended(end: IsolateEnd): void;
}

/** A thread or process that runs calls of one module, one after another, and does not keep this program alive. */
export interface Isolate {
  send(call: IsolateCall): void;
  /** Ends it, whatever it is doing; `ended` follows. */
  kill(): void;
}

export type StartIsolate = (setup: IsolateSetup, events: IsolateEvents) => Isolate;
