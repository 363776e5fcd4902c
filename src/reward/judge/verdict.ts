import { isJsonObject, type JsonValue, parseJson } from "../../scorer/json-value.ts";
import type { Criterion, Rubric } from "./rubric.ts";

/** How far each criterion is met, in [0, 1], in the rubric's order. */
export type Verdict = readonly number[];

const longest = 100_000;

/**
 * The verdict in a judge's reply, or undefined where it is ambiguous. Everything from the first brace to the last must be one
 * JSON object: of several, one may be a quotation from what was judged.
 */
export function parseVerdict(reply: string, rubric: Rubric): Verdict | undefined {
  if (reply.length > longest) return undefined;
  const text = reply.replace(/^\s*<think>.*?<\/think>/s, "");
  const end = text.lastIndexOf("}") + 1;
  // text after the object: the object may be a quotation
  if (!["", "```"].includes(text.slice(end).trim())) return undefined;
  const value = parseJson(text.slice(Math.max(0, text.indexOf("{")), end));
  return value === undefined ? undefined : verdictOf(value, rubric);
}

function verdictOf(value: JsonValue, rubric: Rubric): Verdict | undefined {
  if (!isJsonObject(value)) return undefined;
  const verdict: number[] = [];
  for (const criterion of rubric) {
    const share = shareOf(Object.hasOwn(value, criterion.id) ? value[criterion.id] : undefined, criterion);
    if (share === undefined) return undefined;
    verdict.push(share);
  }
  return verdict;
}

function shareOf(value: JsonValue | undefined, { points = 1 }: Criterion): number | undefined {
  const given = points === 1 && typeof value === "boolean" ? Number(value) : value;
  if (typeof given !== "number" || !Number.isInteger(given) || given < 0 || given > points) return undefined;
  return given / points;
}
