import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { checkParameters, parametersOf } from "./parameters-of.ts";
import { type IsolatedOptions, isolated } from "./sandbox/run-isolated.ts";
import {
  describeIssues,
  type InputOf,
  type OutputOf,
  type StandardResult,
  type StandardSchema,
} from "./standard-schema.ts";
import type { CheckedInput, Tool, ToolContext } from "./tool.ts";

interface CommonOptions<Schema extends StandardSchema> {
  /** What the model is told; the schema's own description where absent. */
  description?: string;
  /** Any Standard Schema of an object. What passes it reaches the function, with defaults filled in. */
  input: Schema;
  /** JSON Schema of the arguments, for schemas of libraries that cannot give it. */
  parameters?: Readonly<Record<string, unknown>>;
  /** Overrides the environment's `toolMs`. */
  timeoutMs?: number;
}

export interface InlineToolOptions<Schema extends StandardSchema, State> extends CommonOptions<Schema> {
  run: (input: OutputOf<Schema>, context: ToolContext<State>) => unknown;
  isolated?: never;
  withState?: never;
  whenKilled?: never;
}

export interface IsolatedToolOptions<Schema extends StandardSchema> extends CommonOptions<Schema> {
  /** The module whose exported function, `run` by default, takes the input; and `{ state }`, with `withState`. */
  isolated: Omit<IsolatedOptions, "export"> & { export?: string };
  /**
   * Gives the function a copy of the episode's state as `{ state }`, its second argument. What it left there replaces the
   * episode's when it returns; a call that throws or is killed changes nothing. The state must be data: plain objects, arrays, maps, sets, dates,
   * bytes and primitives, and no functions or instances of classes.
   */
  withState?: boolean;
  /** `observe` where the input is code and may loop or fill the memory; `stop`, the default, where it is not to blame. */
  whenKilled?: NonNullable<Tool["whenKilled"]>;
  run?: never;
}

export type ToolOptions<Schema extends StandardSchema, State> =
  | InlineToolOptions<Schema, State>
  | IsolatedToolOptions<Schema>;

type AnyToolOptions = ToolOptions<StandardSchema, unknown>;
const knownToolOptions: KnownOptions<AnyToolOptions> = {
  description: true,
  input: true,
  parameters: true,
  timeoutMs: true,
  run: true,
  isolated: true,
  withState: true,
  whenKilled: true,
};

/** `tool` for a state that is known: an environment can hand it to a function, and types flow from its `start` to its tools. */
export type MakeTool<State> = <Schema extends StandardSchema>(
  options: ToolOptions<Schema, State>,
) => Tool<State, InputOf<Schema>>;

/**
 * Makes a tool of a schema and a function, or of a schema and a module that is run where it can be killed:
 *
 *     tool({ input: z.object({ query: z.string() }), run: ({ query }, { state }) => state.index.find(query) });
 *     tool({ input: z.object({ code: z.string() }), isolated: { module: new URL("./run-code.ts", import.meta.url) } });
 */
export function tool<Schema extends StandardSchema, State = unknown>(
  options: ToolOptions<Schema, State>,
): Tool<State, InputOf<Schema>> {
  refuseUnknownOptions("tool", options, knownToolOptions);
  const { input, isolated: where } = options;
  const timeoutMs = checkTimeout(options.timeoutMs ?? where?.limits?.timeoutMs);
  return {
    spec: specOf(options),
    check: (value) => check(input, value),
    // what `check` let through is what the schema gives
    run: (value, context) => (options.run ?? refuseInline)(value as OutputOf<Schema>, context),
    ...defined({
      isolated: where ? isolated({ ...where, export: where.export ?? "run" }) : undefined,
      withState: options.withState,
      whenKilled: options.whenKilled,
      timeoutMs,
    }),
  };
}

function specOf({ input, parameters: given, description }: CommonOptions<StandardSchema>): Tool["spec"] {
  const { description: own, ...parameters } = given === undefined ? parametersOf(input) : checkParameters({ ...given });
  return { description: description ?? (typeof own === "string" ? own : ""), parameters };
}

function check(input: StandardSchema, value: unknown): CheckedInput | Promise<CheckedInput> {
  const result = input["~standard"].validate(value);
  return result instanceof Promise ? result.then(toChecked) : toChecked(result);
}

function toChecked(result: StandardResult<unknown>): CheckedInput {
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, problem: describeIssues(result.issues) };
}

function refuseInline(): never {
  throw new LudusError("tool-is-isolated", {
    got: "a call of its `run`",
    expected: "a call of its `isolated.run`",
    hint: "`callTool` knows the difference.",
  });
}

function checkTimeout(timeoutMs: number | undefined): number | undefined {
  if (timeoutMs === undefined || timeoutMs > 0) return timeoutMs;
  throw new LudusError("invalid-timeout", { got: `timeoutMs ${timeoutMs}`, expected: "milliseconds above 0" });
}
