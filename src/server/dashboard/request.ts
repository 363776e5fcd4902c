import type { Context } from "hono";
import { z } from "zod";
import { LudusError } from "../../errors.ts";
import { readJson } from "../read-json.ts";

/** The query of a request, read with a schema; `list`ed names may occur several times. */
export function readQuery<Schema extends z.ZodType>(
  context: Context,
  schema: Schema,
  list: readonly string[] = [],
): z.infer<Schema> {
  const given = Object.entries(context.req.queries()).map(([name, values]) => [
    name,
    list.includes(name) ? values : values[0],
  ]);
  return parsed(schema, Object.fromEntries(given), "query");
}

export async function readBody<Schema extends z.ZodType>(context: Context, schema: Schema): Promise<z.infer<Schema>> {
  return parsed(schema, await readJson(context), "body");
}

function parsed<Schema extends z.ZodType>(schema: Schema, value: unknown, what: string): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new LudusError("bad-request", { got: `a ${what} that does not fit`, expected: z.prettifyError(result.error) });
}

export const step = z.coerce.number().int().min(0);
export const key = z.coerce.number().int().min(0);

/** A parameter of the path. */
export function pathKey(context: Context, name: string): number {
  return parsed(key, context.req.param(name), `path: ${name}`);
}

export function pathText(context: Context, name: string): string {
  return context.req.param(name) ?? "";
}

export function statusOf(error: LudusError): 400 | 404 | 409 | 413 | 500 {
  if (error.code === "body-too-large") return 413;
  if (error.code.startsWith("no-such-")) return 404;
  if (error.code.startsWith("bad-")) return 400;
  return error.code.startsWith("store-") ? 500 : 409;
}
