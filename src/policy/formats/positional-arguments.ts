import type { ToolSpec } from "../../schema/message.ts";
import { isObject, readJson } from "./json-call.ts";

type Kind = "string" | "number" | "boolean" | "json";

interface Parameter {
  readonly name: string;
  readonly kind: Kind;
}

export type ReadArguments =
  | { readonly ok: true; readonly arguments: Readonly<Record<string, unknown>> }
  | { readonly ok: false; readonly problem: string };

/** The parameters of a tool, in the order of its schema. */
export function parametersOf(tool: ToolSpec): Parameter[] {
  const properties = isObject(tool.parameters.properties) ? tool.parameters.properties : {};
  return Object.entries(properties).map(([name, schema]) => ({ name, kind: kindOf(schema) }));
}

function kindOf(schema: unknown): Kind {
  if (!isObject(schema)) return "json";
  const choices = Array.isArray(schema.enum) ? schema.enum : undefined;
  if (choices !== undefined) return choices.every((choice) => typeof choice === "string") ? "string" : "json";
  if (schema.type === "integer" || schema.type === "number") return "number";
  return schema.type === "string" || schema.type === "boolean" ? schema.type : "json";
}

/**
 * Positional arguments: `tea 3 1` for a string, a number and a boolean. `_` leaves one out. The last parameter, if it is a
 * string, takes the rest of the line; other strings with spaces in them are written as JSON.
 */
export function readArguments(line: string, tool: ToolSpec): ReadArguments {
  const parameters = parametersOf(tool);
  const found: [string, unknown][] = [];
  let rest = line.trim();
  for (const [index, { name, kind }] of parameters.entries()) {
    if (rest === "") break;
    const takesRest = kind === "string" && index === parameters.length - 1 && !rest.startsWith('"');
    const end = takesRest ? rest.length : endOfValue(rest, kind);
    const written = rest.slice(0, end);
    rest = rest.slice(end).trimStart();
    if (written === "_") continue;
    const value = readValue(written, kind);
    if (value === undefined) return { ok: false, problem: `${name} is no ${kind}: ${written}` };
    found.push([name, value]);
  }
  if (rest === "") return { ok: true, arguments: Object.fromEntries(found) };
  return { ok: false, problem: `too much: ${rest}` };
}

/** Undefined where the arguments do not fit the schema, and so cannot be positional. */
export function writeArguments(given: Readonly<Record<string, unknown>>, tool: ToolSpec): string | undefined {
  const parameters = parametersOf(tool);
  const present = (name: string) => Object.hasOwn(given, name) && given[name] !== undefined;
  const known = new Set(parameters.map(({ name }) => name));
  if (Object.keys(given).some((name) => present(name) && !known.has(name))) return undefined;
  const count = parameters.findLastIndex(({ name }) => present(name)) + 1;
  const words = parameters.slice(0, count).map(({ name, kind }, index) => {
    return present(name) ? writeValue(given[name], kind, index === parameters.length - 1) : "_";
  });
  return words.includes(undefined) ? undefined : words.join(" ");
}

function readValue(written: string, kind: Kind): unknown {
  switch (kind) {
    case "string":
      return written.startsWith('"') ? stringOf(written) : written;
    case "number":
      return numberOf(written);
    case "boolean":
      return booleans.get(written);
    case "json": {
      const json = readJson(written);
      return json.ok ? json.value : undefined;
    }
    default:
      return kind satisfies never;
  }
}

const booleans: ReadonlyMap<string, boolean> = new Map([
  ["1", true],
  ["0", false],
  ["true", true],
  ["false", false],
]);

function numberOf(written: string): number | undefined {
  const isNumber = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i.test(written) && Number.isFinite(Number(written));
  return isNumber ? Number(written) : undefined;
}

function stringOf(written: string): string | undefined {
  const json = readJson(written);
  return json.ok && typeof json.value === "string" ? json.value : undefined;
}

function writeValue(value: unknown, kind: Kind, isLast: boolean): string | undefined {
  switch (kind) {
    case "string":
      if (typeof value !== "string") return undefined;
      return isBare(value, isLast) ? value : JSON.stringify(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value) ? JSON.stringify(value) : undefined;
    case "boolean":
      return typeof value === "boolean" ? (value ? "1" : "0") : undefined;
    case "json":
      return JSON.stringify(value);
    default:
      return kind satisfies never;
  }
}

function isBare(text: string, isLast: boolean): boolean {
  if (text === "" || text === "_" || text.startsWith('"') || text !== text.trim()) return false;
  return !(isLast ? /\n/ : /\s/).test(text);
}

/** Where the first value of the text ends: at a space, or, of quotes and brackets, after the one that closes them. */
function endOfValue(text: string, kind: Kind): number {
  const word = /^\S+/.exec(text)?.[0].length ?? 0;
  const isJson = text.startsWith('"') ? kind === "string" || kind === "json" : kind === "json" && /^[[{]/.test(text);
  if (!isJson) return word;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '"') {
      at++;
      while (at < text.length && text[at] !== '"') at += text[at] === "\\" ? 2 : 1;
    } else if (text[at] === "{" || text[at] === "[") depth++;
    else if (text[at] === "}" || text[at] === "]") depth--;
    if (depth === 0) return /^\S*/.exec(text.slice(at + 1))![0].length + at + 1;
  }
  return text.length;
}
