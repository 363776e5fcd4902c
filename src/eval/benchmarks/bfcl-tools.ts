import { z } from "zod";
import type { ToolSpec } from "../../schema/message.ts";
import { type BfclCall, bfclName } from "../../scorer/bfcl-ast.ts";
import { parsePythonJson } from "../../scorer/python-json.ts";
import type { ChatReply } from "./benchmark.ts";

const Parameter = z.looseObject({
  type: z.string(),
  items: z.looseObject({ type: z.string().optional() }).optional(),
});

/** A function as BFCL's files describe it. */
export const BfclFunctionRow = z.object({
  name: z.string(),
  description: z.string(),
  parameters: z.looseObject({
    properties: z.record(z.string(), Parameter),
    required: z.array(z.string()).default([]),
  }),
});

/** The calls of a reply; undefined where arguments are no object. */
export function readCalls({ calls }: ChatReply): readonly BfclCall[] | undefined {
  try {
    return calls.map(({ name, arguments: given }) => {
      const read = parsePythonJson(given);
      if (typeof read !== "object" || read === null || Array.isArray(read)) throw new SyntaxError("no object");
      return { name, arguments: read as BfclCall["arguments"] };
    });
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const openAiTypes: Readonly<Record<string, string>> = {
  ...{ dict: "object", float: "number", tuple: "array", any: "string", bool: "boolean", byte: "integer" },
};

export function toTool({ name, description, parameters }: z.infer<typeof BfclFunctionRow>): ToolSpec {
  return { name: bfclName(name), description, parameters: toSchema(parameters) as ToolSpec["parameters"] };
}

/** Types of the published files as JSON Schema calls them, at every depth. */
function toSchema(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toSchema);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]) => {
    // a property may itself be called `type`
    return [key, key === "type" && typeof inner === "string" ? (openAiTypes[inner] ?? inner) : toSchema(inner)];
  });
  return Object.fromEntries(entries);
}
