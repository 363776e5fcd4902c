import { z } from "zod";
import { checkJsonDepth } from "../bounded-json.ts";
import { bounds } from "../bounds.ts";
import { LudusError } from "../errors.ts";
import type { StandardSchema } from "./standard-schema.ts";

export type JsonSchema = Record<string, unknown>;

/** The JSON Schema of a tool's arguments, as short as it can be said: every prompt carries it. */
export function parametersOf(input: StandardSchema): JsonSchema {
  return checkParameters(readJsonSchema(input));
}

/** A schema given as it is, by a person or a server. */
export function checkParameters(schema: JsonSchema): JsonSchema {
  const { $schema: _, ...parameters } = shorten(checkedDepth(schema));
  if (parameters.type !== "object") {
    throw new LudusError("tool-input-not-object", {
      got: `a JSON Schema of ${describeType(parameters)}`,
      expected: "that of an object: arguments have names",
      hint: "Put the schema in a field, as in z.object({ value: schema }).",
    });
  }
  return parameters;
}

function checkedDepth(schema: JsonSchema): JsonSchema {
  try {
    return checkJsonDepth(schema);
  } catch (cause) {
    const expected = `at most ${bounds.jsonDepth}`;
    throw new LudusError("tool-input-too-deep", { got: "a JSON Schema of too many levels", expected, cause });
  }
}

function readJsonSchema(input: StandardSchema): JsonSchema {
  const { jsonSchema, vendor } = input["~standard"];
  try {
    if (jsonSchema !== undefined) return jsonSchema.input({ target: "draft-2020-12" });
    if (isZod(input)) return z.toJSONSchema(input, { io: "input" });
  } catch (cause) {
    throw new LudusError("tool-input-not-json", {
      got: cause instanceof Error ? `"${cause.message}" from ${vendor}` : `an error from ${vendor}`,
      expected: "a schema that JSON Schema can say: models write JSON",
      hint: "Take strings and numbers and convert them in the tool, or give `parameters` by hand.",
      cause,
    });
  }
  throw new LudusError("tool-input-without-json-schema", {
    got: `a schema of ${vendor} that has no JSON Schema`,
    expected: "zod 4, or a library with Standard JSON Schema",
    hint: "Give the JSON Schema of the arguments as `parameters`.",
  });
}

/** Zod before 4.2 has no Standard JSON Schema; zod 3 cannot be converted at all. */
function isZod(input: StandardSchema): input is StandardSchema & z.ZodType {
  return input["~standard"].vendor === "zod" && "_zod" in input;
}

// their values are data, not schemas
const dataKeys = new Set(["const", "default", "enum", "examples"]);

/** Takes out what zod adds and nobody wrote: the bounds of safe integers, the pattern behind a format. */
function shorten(schema: JsonSchema): JsonSchema {
  const entries = Object.entries(schema).flatMap(([key, value]): [string, unknown][] => {
    if (schema.type === "integer" && key === "minimum" && value === Number.MIN_SAFE_INTEGER) return [];
    if (schema.type === "integer" && key === "maximum" && value === Number.MAX_SAFE_INTEGER) return [];
    if (schema.type === "string" && key === "pattern" && typeof schema.format === "string") return [];
    return [[key, dataKeys.has(key) ? value : shortenValue(value)]];
  });
  return Object.fromEntries(entries);
}

function shortenValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shortenValue);
  return typeof value === "object" && value !== null ? shorten({ ...value }) : value;
}

function describeType({ type, anyOf, oneOf, allOf, $ref }: JsonSchema): string {
  if (typeof type === "string") return `type "${type}"`;
  if (anyOf !== undefined || oneOf !== undefined) return "a union";
  if (allOf !== undefined) return "an intersection";
  return $ref === undefined ? "any type" : "a reference";
}
