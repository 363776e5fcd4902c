import { z } from "zod";
import { checkJsonDepth, parseBoundedJson } from "../bounded-json.ts";
import { bounds } from "../bounds.ts";
import type { ToolCall, ToolSpec } from "./message.ts";
import { isJsonObject } from "./parse-with.ts";

/** A value that datasets also hold as JSON text, since columns of tables want one type. */
export function perhapsText<Value>(schema: z.ZodType<Value>): z.ZodType<Value> {
  return z.unknown().transform((value, context) => {
    const parsed = typeof value === "string" ? parsedBy(parseBoundedJson, value) : parsedBy(checkJsonDepth, value);
    const result = "value" in parsed ? schema.safeParse(parsed.value) : undefined;
    if (result?.success) return result.data;
    const issue = result?.error.issues[0];
    context.addIssue({ code: "custom", message: issue?.message ?? jsonExpected, path: [...(issue?.path ?? [])] });
    return z.NEVER;
  });
}

const jsonExpected = `JSON of at most ${bounds.jsonDepth} levels`;

function parsedBy<Given>(parse: (given: Given) => unknown, given: Given): { value: unknown } | Record<string, never> {
  try {
    return { value: parse(given) };
  } catch {
    return {};
  }
}

// not z.record: it drops a key named __proto__, which a model may well write
const jsonObject = z.custom<Record<string, unknown>>(isJsonObject, "an object");

/** `{ name, arguments }`, arguments as an object or as its JSON. */
export const ForeignCall: z.ZodType<ToolCall> = z.object({ name: z.string(), arguments: perhapsText(jsonObject) });

const noParameters = { type: "object", properties: {} };

const BareTool = z.object({
  name: z.string(),
  description: z.string().nullish(),
  parameters: jsonObject.nullish(),
});

const ForeignTool: z.ZodType<ToolSpec> = z.preprocess(
  (value) => (isJsonObject(value) && isJsonObject(value.function) ? value.function : value),
  BareTool.transform(({ name, description, parameters }) => ({
    name,
    description: description ?? "",
    parameters: parameters ?? noParameters,
  })),
);

/** A `tools` column: OpenAI's form or bare, a list or its JSON, or nothing. */
export const ForeignTools: z.ZodType<ToolSpec[]> = z.preprocess(
  (value) => (value === "" ? [] : (value ?? [])),
  perhapsText(z.array(ForeignTool)),
);

/** OpenAI's form of a tool. */
export interface OpenAiTool {
  readonly type: "function";
  readonly function: ToolSpec;
}

export function toOpenAiTool({ name, description, parameters }: ToolSpec): OpenAiTool {
  return { type: "function", function: { name, description, parameters } };
}

/** Hands out what was asked for in order: for formats whose answers do not say which tool they are from. */
export class OpenCalls<Call> {
  #waiting: Call[] = [];

  ask(calls: readonly Call[]): void {
    this.#waiting = [...calls];
  }

  /** The call that is answered: the one `isIt`, else the first that has no answer yet. */
  answer(isIt: (call: Call) => boolean): Call | undefined {
    const index = this.#waiting.findIndex(isIt);
    return this.#waiting.splice(Math.max(0, index), 1)[0];
  }
}
