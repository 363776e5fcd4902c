import { z } from "zod";
import { isTooDeep } from "../../bounded-json.ts";
import { errorText, LudusError } from "../../errors.ts";

/** An answer that has to be JSON, of a schema where one is given. */
export interface JsonAnswer {
  readonly schema: Readonly<Record<string, unknown>> | undefined;
  /** What is wrong with a text, in a few words; undefined where nothing is. */
  problem(text: string): string | undefined;
}

/** How OpenAI's clients ask for it, in `response_format` and in `text.format`. */
export const JsonFormat = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text") }),
  z.object({ type: z.literal("json_object") }),
  z.object({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) }),
]);

/** What a request asks for; undefined where any text will do. Throws for a schema that cannot be checked. */
export function jsonAnswer(format: z.infer<typeof JsonFormat> | null | undefined): JsonAnswer | undefined {
  if (format == null || format.type === "text") return undefined;
  const schema = format.type === "json_schema" ? format.schema : undefined;
  const shape = schema === undefined ? z.record(z.string(), z.unknown()) : shapeOf(schema);
  return {
    schema,
    problem(text) {
      if (isTooDeep(text)) return "it is nested too deep";
      try {
        const read = shape.safeParse(JSON.parse(text));
        if (read.success) return undefined;
        const issue = read.error.issues[0];
        return `${issue.path.join(".") || "it"}: ${issue.message}`;
      } catch (error) {
        return errorText(error);
      }
    },
  };
}

function shapeOf(schema: Readonly<Record<string, unknown>>): z.ZodType {
  try {
    return z.fromJSONSchema(withoutPatterns(schema) as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (error) {
    throw new LudusError("bad-request", {
      got: `a schema that cannot be checked: ${errorText(error)}`,
      expected: "JSON Schema without conditions and references outside of it",
      cause: "response_format",
    });
  }
}

/** Regular expressions are not tried: one can be written to take hours, and the model's text is what it would be tried on. */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (typeof schema !== "object" || schema === null) return schema;
  const kept = Object.entries(schema).filter(([key, value]) => key !== "pattern" || typeof value !== "string");
  return Object.fromEntries(kept.map(([key, value]) => [key, withoutPatterns(value)]));
}

/** What the model is told. */
export function describeJsonAnswer({ schema }: JsonAnswer): string {
  if (schema === undefined) return "Answer with a JSON object and nothing else.";
  return `Answer with JSON of this schema and nothing else:\n${JSON.stringify(schema)}`;
}
