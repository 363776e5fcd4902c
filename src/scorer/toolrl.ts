import { tagContents } from "./format-tags.ts";
import { canonicalJson, isJsonObject, type JsonValue, parseJson } from "./json-value.ts";
import { countOf, roundHalfEven, splitWords, strip } from "./python-strings.ts";

export interface ToolRlCall {
  name: string;
  parameters: { readonly [key: string]: JsonValue };
}

/** What the turn should hold: tool calls, an answer to the user, both, or a thought alone. */
export interface ToolRlReference {
  calls: readonly ToolRlCall[];
  responds: boolean;
}

export interface ToolRlOptions {
  /**
   * Range of the correctness reward. `max3`: ±3. `max1` (CORRECTMAX1): ±1. `two-stage` (MAX1STEP30MAX3): ±1 before step
   * 30, then ±3 while format halves. `smooth` (SCHEDULEREWARD): from ±2 to ±3 over 150 steps while format falls from 2 to 1.
   */
  scale: "max3" | "max1" | "two-stage" | "smooth";
  /**
   * `fine`: partial credit for names, parameter names and values. `refined` (REFINEDREWARD): names and parameter names must all
   * match. `intermediate` (INTERMEDIATEREWARD): a call is equal or worth nothing. `coarse` (COARSEREWARD): all calls are
   * equal or the lowest reward.
   */
  granularity: "fine" | "refined" | "intermediate" | "coarse";
  /** `fixed` (WITHLENGTH): words of thought over 512, at most 1. `growing` (SCHEDULELENGTH): over 384 to 640 in 105 steps. */
  length: "none" | "fixed" | "growing";
  /** The training step, for what changes over training. */
  step: number;
}

export interface ToolRlScore {
  total: number;
  format: number;
  correctness: number;
  length: number;
}

const defaults: ToolRlOptions = { scale: "max3", granularity: "fine", length: "none", step: 0 };
type Range = readonly [low: number, high: number];

/** ToolRL (arXiv 2504.13958): format plus correctness of one turn, plus the length of its thought where that is on. */
export function toolRlScore(
  text: string,
  reference: ToolRlReference,
  options: Partial<ToolRlOptions> = {},
): ToolRlScore {
  const chosen = { ...defaults, ...options };
  const [low, high] = formatRange(chosen);
  const format = hasToolRlFormat(text, reference) ? high : low;
  const correctness = reference.calls.length === 0 ? 0 : correctnessOf(text, reference.calls, chosen);
  const length = lengthOf(text, chosen);
  return { total: format + correctness + length, format, correctness, length };
}

/** Lowest and highest that format, correctness and length can be with these options. */
export function toolRlRanges(options: Partial<ToolRlOptions> = {}): Record<"format" | "correctness" | "length", Range> {
  const chosen = { ...defaults, ...options };
  const length: Range = [0, chosen.length === "none" ? 0 : 1];
  return { format: formatRange(chosen), correctness: correctnessRange(chosen), length };
}

function formatRange({ scale, step }: ToolRlOptions): Range {
  if (scale === "two-stage") return step >= 30 ? [0, 0.5] : [0, 1];
  if (scale === "smooth") return [Math.min(-2 + (2 * step) / 150, -1), Math.max(2 - step / 150, 1)];
  return [0, 1];
}

function correctnessRange({ scale, step }: ToolRlOptions): Range {
  if (scale === "max1" || (scale === "two-stage" && step < 30)) return [-1, 1];
  const high = scale === "smooth" ? Math.min(2 + step / 150, 3) : 3;
  return [-high, high];
}

/**
 * Whether the tags are those of the reference, each once and on the lines they belong on. The released code does not count
 * `<think>`, so that one inside another passes there.
 */
export function hasToolRlFormat(text: string, { calls, responds }: ToolRlReference): boolean {
  const parts = ["<think>.*?</think>"];
  if (calls.length > 0) parts.push("<tool_call>\n.*?\n</tool_call>");
  if (responds) parts.push("<response>.*?</response>");
  const names = ["think", ...(calls.length > 0 ? ["tool_call"] : []), ...(responds ? ["response"] : [])];
  if (names.some((name) => countOf(text, `<${name}>`) !== 1 || countOf(text, `</${name}>`) !== 1)) return false;
  // Python's $ also stands before a last line end
  return new RegExp(`^${parts.join("\n")}\n?$`, "s").test(text);
}

function correctnessOf(text: string, golds: readonly ToolRlCall[], options: ToolRlOptions): number {
  const [low, high] = correctnessRange(options);
  const calls = parseToolRlCalls(text);
  if (calls === null) return low;
  if (calls.length === golds.length && calls.every((call, index) => same(call, golds[index]))) return high;
  if (options.granularity === "coarse") return low;
  const names = (list: readonly ToolRlCall[]) => list.map((call) => call.name);
  const open = new Set(calls);
  let score = overlap(names(golds), names(calls), options);
  let most = 1;
  for (const gold of golds) {
    most += options.granularity === "intermediate" ? 1 : 1 + Object.keys(gold.parameters).length;
    let best: ToolRlCall | undefined;
    let bestScore = 0;
    for (const call of open) {
      const match = matchOf(gold, call, options);
      if (match > bestScore) [best, bestScore] = [call, match];
    }
    if (best !== undefined) open.delete(best);
    score += bestScore;
  }
  return ((high - low) * score) / most + low;
}

/** The calls of the first `<tool_call>` block, one JSON object a line; null where there is none or a line is no call. */
export function parseToolRlCalls(text: string): ToolRlCall[] | null {
  const block = tagContents(text, "tool_call")[0];
  if (block === undefined) return null;
  const calls: ToolRlCall[] = [];
  for (const line of strip(block).split("\n")) {
    const call = parseJson(line);
    if (!isJsonObject(call) || typeof call.name !== "string" || !isJsonObject(call.parameters)) return null;
    calls.push({ name: call.name, parameters: call.parameters });
  }
  return calls;
}

function matchOf(gold: ToolRlCall, call: ToolRlCall, options: ToolRlOptions): number {
  if (call.name !== gold.name) return 0;
  if (options.granularity === "intermediate") return same(gold, call) ? 1 : 0;
  const keys = Object.keys(gold.parameters);
  const right = keys.filter(
    (key) =>
      Object.hasOwn(call.parameters, key) &&
      canonicalJson(call.parameters[key]!) === canonicalJson(gold.parameters[key]!),
  );
  return overlap(keys, Object.keys(call.parameters), options) + right.length;
}

/** Shared over all, counting how often each occurs; two empty lists are equal. */
function overlap(a: readonly string[], b: readonly string[], { granularity }: ToolRlOptions): number {
  if (a.length === b.length && a.every((item, index) => item === b[index])) return 1;
  if (granularity === "refined") return 0;
  const left = [...b];
  let shared = 0;
  for (const item of a) {
    const at = left.indexOf(item);
    if (at < 0) continue;
    left.splice(at, 1);
    shared++;
  }
  return shared / (a.length + b.length - shared);
}

function same(a: ToolRlCall, b: ToolRlCall): boolean {
  return a.name === b.name && canonicalJson(a.parameters) === canonicalJson(b.parameters);
}

function lengthOf(text: string, { length, step }: ToolRlOptions): number {
  if (length === "none" || !text.includes("<think>") || !text.includes("</think>")) return 0;
  const thought = text.split("<think>").at(-1)!.split("</think>")[0];
  const full = length === "growing" ? ((640 - 384) * Math.min(step, 105)) / 105 + 384 : 512;
  return Math.min(roundHalfEven((splitWords(thought).length / full) * 100) / 100, 1);
}
