import { bounds } from "../bounds.ts";
import type { TemplateValue } from "./huggingface.ts";

// How Python writes a value. Templates are written for Python, where `{{ true }}` is True and an empty list is [] at any
// indentation; the package writes JavaScript's forms.

/** Python's `str(value)`. An undefined value is an empty string, as in Jinja. */
export function pythonString(value: TemplateValue): string {
  if (value.type === "StringValue") return value.value as string;
  return value.type === "UndefinedValue" ? "" : pythonRepr(value);
}

export interface JsonStyle {
  indent?: number | undefined;
  ensureAscii?: boolean | undefined;
  sortKeys?: boolean | undefined;
  separators?: readonly [item: string, key: string] | undefined;
}

/** Python's `json.dumps(value, ensure_ascii=False)`, which is what transformers makes of the filter `tojson`. */
export function pythonJson(value: TemplateValue, style: JsonStyle = {}, depth = 0): string {
  const [itemSeparator, keySeparator] = style.separators ?? [style.indent === undefined ? ", " : ",", ": "];
  const lines = (parts: string[], open: string, close: string) => {
    if (parts.length === 0) return open + close;
    if (style.indent === undefined) return open + joined(parts, itemSeparator) + close;
    const outer = `\n${" ".repeat(style.indent * depth)}`;
    const inner = outer + " ".repeat(style.indent);
    return open + inner + joined(parts, itemSeparator + inner) + outer + close;
  };
  switch (value.type) {
    case "StringValue":
      return jsonString(value.value as string, style);
    case "BooleanValue":
    case "NullValue":
      return JSON.stringify(value.value ?? null);
    case "ArrayValue":
    case "TupleValue":
      return lines(
        items(value).map((item) => pythonJson(item, style, depth + 1)),
        "[",
        "]",
      );
    case "ObjectValue": {
      const sorted = style.sortKeys ? entries(value).sort(([a], [b]) => (a < b ? -1 : 1)) : entries(value);
      const pairs = sorted.map(
        ([key, item]) => jsonString(key, style) + keySeparator + pythonJson(item, style, depth + 1),
      );
      return lines(pairs, "{", "}");
    }
    case "IntegerValue":
    case "FloatValue":
      return pythonNumber(value);
    default:
      throw new TypeError(`tojson was given ${value.type === "UndefinedValue" ? "an undefined value" : value.type}`);
  }
}

function pythonRepr(value: TemplateValue): string {
  switch (value.type) {
    case "StringValue":
      return reprString(value.value as string);
    case "BooleanValue":
      return value.value ? "True" : "False";
    case "NullValue":
      return "None";
    case "ArrayValue":
      return `[${joined(items(value).map(pythonRepr), ", ")}]`;
    case "TupleValue":
      return `(${joined(items(value).map(pythonRepr), ", ")}${items(value).length === 1 ? "," : ""})`;
    case "ObjectValue":
      return `{${joined(
        entries(value).map(([key, item]) => `${reprString(key)}: ${pythonRepr(item)}`),
        ", ",
      )}}`;
    case "IntegerValue":
    case "FloatValue":
      return pythonNumber(value);
    default:
      return "Undefined";
  }
}

/** What a template did or made has no end in sight. */
export class TemplateTooCostly extends Error {}

export function checkTemplateSize(size: number): void {
  if (size > bounds.templateChars) throw new TemplateTooCostly(`a text or list of more than ${bounds.templateChars}`);
}

/** A list may hold another many times, and that a third: every level is looked at before it is written. */
function joined(parts: readonly string[], separator: string): string {
  checkTemplateSize(parts.reduce((sum, part) => sum + part.length + separator.length, 0));
  return parts.join(separator);
}

function items(value: TemplateValue): TemplateValue[] {
  return value.value as TemplateValue[];
}

function entries(value: TemplateValue): [string, TemplateValue][] {
  return [...(value.value as Map<string, TemplateValue>)];
}

function pythonNumber(value: TemplateValue): string {
  const number = value.value as number;
  if (Number.isInteger(number))
    return value.type === "FloatValue" && Math.abs(number) < 1e16 ? number.toFixed(1) : `${number}`;
  if (!Number.isFinite(number) || Math.abs(number) >= 1e-4) return `${number}`;
  return number.toExponential().replace(/e([+-])(\d)$/, "e$10$2");
}

function jsonString(text: string, style: JsonStyle): string {
  const json = JSON.stringify(text);
  return style.ensureAscii ? json.replace(/[^ -~]/g, (unit) => `\\u${hex(unit.charCodeAt(0), 4)}`) : json;
}

function reprString(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const named: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t" };
  const escaped = text.replace(/[\\\p{C}\p{Z}]/gu, (character) => {
    const code = character.codePointAt(0)!;
    if (character === " ") return character;
    return (
      named[character] ??
      (code < 0x100 ? `\\x${hex(code, 2)}` : code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`)
    );
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", "\\'") : escaped) + quote;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}
