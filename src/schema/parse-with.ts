import type { z } from "zod";
import { LudusError } from "../errors.ts";

/** Parses what came from outside. What does not fit is an error that names the field, its value and what was expected there. */
export function parseWith<Value>(schema: z.ZodType<Value>, value: unknown, what: string, code: string): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  const field = issue.path.length > 0 ? `${issue.path.join(".")} = ` : "";
  throw new LudusError(code, {
    got: `${what} with ${field}${shortened(valueAt(value, issue.path))}`,
    expected: issue.message.replace(/^Invalid \w+: (expected )?/, ""),
    cause: result.error,
  });
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? Reflect.get(inner, key) : undefined),
    value,
  );
}

function shortened(value: unknown): string {
  const text = jsonOf(value);
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    // nested deeper than the stack
    return "a value that JSON cannot hold";
  }
}

/** Whether a value is what JSON calls an object. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
