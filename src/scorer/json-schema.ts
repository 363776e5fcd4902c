import { z } from "zod";
import { errorText, LudusError } from "../errors.ts";
import { parseJson } from "./json-value.ts";
import { right, type VerifierVerdict, wrong } from "./verdict.ts";

const longest = 200_000;

/** A check of texts by a JSON Schema (2020-12, draft 7 or 4). A schema with a part that is not known is an error, not a pass. */
export function compileSchema(schema: Readonly<Record<string, unknown>>): (text: string) => VerifierVerdict {
  const checked = compiled(schema);
  return (text) => {
    if (text.length > longest) return wrong(`longer than ${longest} characters`);
    const value = parseJson(text);
    if (value === undefined) return wrong("not JSON");
    const result = checked.safeParse(value);
    if (result.success) return right;
    const [{ path, message }] = result.error.issues;
    return wrong(path.length === 0 ? message : `${path.join(".")}: ${message}`);
  };
}

function compiled(schema: Readonly<Record<string, unknown>>): z.ZodType {
  try {
    return z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw new LudusError("bad-schema", {
      got: errorText(cause),
      expected:
        "a JSON Schema of types, properties, items, enumerations, limits, patterns, references and combinations",
      cause,
    });
  }
}
