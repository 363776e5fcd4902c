import { parseBoundedJson } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { cutText } from "../../cut-text.ts";
import { errorText } from "../../errors.ts";
import type { SaidCall } from "../call-format.ts";

export interface JsonCallForm {
  /** `arguments` or `parameters`. */
  readonly argumentsKey: string;
  /** How a call is written right, for the policy to read. */
  readonly example: string;
}

/** A call written as `{"name": …, "arguments": {…}}`. No arguments at all are none. */
export function readJsonCall(text: string, { argumentsKey, example }: JsonCallForm): SaidCall {
  const wrong = (problem: string) => malformed(text, problem, example);
  const json = readJson(text);
  if (!json.ok) return wrong(`the call is not JSON (${json.problem})`);
  if (!isObject(json.value)) return wrong("the call is not a JSON object");
  const { name, [argumentsKey]: given = {} } = json.value;
  if (typeof name !== "string" || name === "") return wrong('the call has no "name"');
  if (!isObject(given)) return wrong(`"${argumentsKey}" is not a JSON object`);
  return { kind: "call", name, arguments: given };
}

export function malformed(text: string, problem: string, example: string): SaidCall {
  return { kind: "malformed", text: text.trim(), problem: `${cutText(problem, bounds.quotedChars)}. Write ${example}` };
}

export type Json = { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string };

export function readJson(text: string): Json {
  try {
    return { ok: true, value: parseBoundedJson(text) };
  } catch (error) {
    return { ok: false, problem: errorText(error) };
  }
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * JSON with a space after every comma and colon, which is how chat templates, and so models, write it. Tags inside strings
 * are written `\u003c…`, so that they are not taken for tags.
 */
export function jsonText(value: unknown, tags: readonly string[]): string {
  const text = spaced(JSON.parse(JSON.stringify(value)));
  return tags.length === 0 ? text : text.replace(new RegExp(`<(?=/?(?:${tags.join("|")})>)`, "g"), "\\u003c");
}

function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}: ${spaced(field)}`);
  return `{${fields.join(", ")}}`;
}
