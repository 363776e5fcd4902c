import { bounds } from "../bounds.ts";
import { lastBoxed } from "./boxed.ts";
import { parseRational, sameRational } from "./math-number.ts";

type Rewrite = readonly [pattern: RegExp, replacement: string];

/** Applied in this order. */
const rewrites: readonly Rewrite[] = [
  [/−|–/g, "-"],
  [/π/g, "\\pi"],
  [/∞/g, "\\infty"],
  [/√/g, "\\sqrt"],
  [/\{,\}/g, ","],
  [/\\\$|\$/g, ""],
  [/\\[!,;:> ]|~|\\quad|\\qquad/g, " "],
  [/\\(?:left|right|[bB]igg?[lr]?)(?![a-zA-Z])\.?/g, ""],
  [/\\[tdc]frac(?![a-zA-Z])/g, "\\frac"],
  [/\\le(?![a-zA-Z])/g, "\\leq"],
  [/\\ge(?![a-zA-Z])/g, "\\geq"],
  [/\\ne(?![a-zA-Z])/g, "\\neq"],
  [/\\(?:times|cdot)(?![a-zA-Z])/g, "*"],
  [/\\lbrace(?![a-zA-Z])/g, "\\{"],
  [/\\rbrace(?![a-zA-Z])/g, "\\}"],
  [/\^\s*(?:\{\s*\\circ\s*\}|\\circ)|\\degree(?![a-zA-Z])|°/g, ""],
  [/\\?%/g, ""],
  // a word after a number or a formula is its unit
  [/(?<=\S)\s*\\(?:text|mbox|mathrm|textbf|textrm)\s*\{[^{}]*\}(?:\^\{?\d\}?)?\s*$/g, ""],
  [/\\(?:text|mbox|mathrm|mathbf|textbf|textit|textrm|operatorname|mathit)\s*\{([^{}]*)\}/g, "$1"],
];

const units =
  /(?<=[\d}])\s*(?:degrees?|dollars?|cents?|percent|(?:square|cubic|sq|cu)?\s*(?:units?|inch(?:es)?|feet|foot|ft|cm|mm|km|m|meters?|miles?|yards?)|hours?|minutes?|seconds?|days?|years?|grams?|kg)(?:\^\{?\d\}?)?$/i;

/**
 * One spelling for the ways LaTeX answers are written: spacing, sizes, units, fractions, decimals. A text that is longer than
 * `bounds.mathAnswer` stays as it is.
 */
export function normalizeMathAnswer(answer: string): string {
  if (answer.length > bounds.mathAnswer) return answer.trim();
  let text = answer.trim();
  for (const [pattern, replacement] of rewrites) text = text.replace(pattern, replacement);
  text = text.trim().replace(units, "").replace(/\s+/g, "").replace(/\.$/, "");
  const [left, right, ...more] = text.split("=");
  if (right !== undefined && more.length === 0 && left.length <= 2) text = right;
  text = text.replace(/\\sqrt(\w)/g, "\\sqrt{$1}");
  text = text.replace(/\\frac(\d)(?=[\d{])/g, "\\frac{$1}").replace(/(\\frac\{[^{}]*\})(\d)/g, "$1{$2}");
  text = text.replace(/^(-?\d+)\/(\d+)$/, "\\frac{$1}{$2}");
  text = text.replace(/(^|[^\d])\.(\d)/g, "$10.$2");
  text = text.replace(/(\.\d*?)0+(?!\d)/g, "$1").replace(/(\d)\.(?!\d)/g, "$1");
  return /^-?\d{1,3}(?:,\d{3})+(?:\.\d+)?$/.test(text) ? text.replaceAll(",", "") : text;
}

/**
 * Whether two answers say the same: equal in normal form, equal as rational numbers, or lists of the same brackets whose
 * members are. Sets and bare lists have no order; tuples and intervals do. No algebra: `2x` is not `x+x`.
 */
export function mathEqual(a: string, b: string): boolean {
  // no real answer is this long
  if (Math.max(a.length, b.length) > bounds.mathAnswer) return a.trim() === b.trim();
  return sameNormal(normalizeMathAnswer(a), normalizeMathAnswer(b));
}

function sameNormal(a: string, b: string): boolean {
  if (a === b) return a !== "";
  const [x, y] = [parseRational(a), parseRational(b)];
  if (x !== null && y !== null) return sameRational(x, y);
  const [left, right] = [asList(a), asList(b)];
  if (left === null || right === null) return false;
  if (left.open !== right.open || left.close !== right.close || left.items.length !== right.items.length) return false;
  if (left.open === "(" || left.open === "[") {
    return left.items.every((item, index) => sameNormal(item, right.items[index]));
  }
  const open = [...right.items];
  return left.items.every((item) => {
    const at = open.findIndex((other) => sameNormal(item, other));
    if (at >= 0) open.splice(at, 1);
    return at >= 0;
  });
}

interface AnswerList {
  open: string;
  close: string;
  items: string[];
}

/** A list of two members or more, or one in brackets; null for anything else, so that the recursion ends. */
function asList(text: string): AnswerList | null {
  const brackets = /^(\\\{|[([])(.*)(\\\}|[)\]])$/s.exec(text);
  const items = splitTopLevel(brackets === null ? text : brackets[2]);
  if (items.length < 2 && brackets?.[1] !== "\\{") return null;
  if (brackets !== null) return { open: brackets[1], close: brackets[3], items };
  return { open: "", close: "", items };
}

function splitTopLevel(text: string): string[] {
  const items = [""];
  let depth = 0;
  for (const character of text) {
    if ("([{".includes(character)) depth++;
    if (")]}".includes(character)) depth--;
    if (character === "," && depth === 0) items.push("");
    else items[items.length - 1] += character;
  }
  return items;
}

/** 1 where the last box of the text holds the gold answer, else 0. The gold may be boxed itself. */
export function mathScore(text: string, gold: string): number {
  const answer = lastBoxed(text);
  return answer !== null && mathEqual(answer, lastBoxed(gold) ?? gold) ? 1 : 0;
}

/** ReFT's grades (arXiv 2401.08967): 1 for the right answer, 0.1 for any answer that can be extracted, else 0. */
export function reftScore(text: string, gold: string, extract: (text: string) => string | null = lastBoxed): number {
  const answer = extract(text);
  if (answer === null) return 0;
  return mathEqual(answer, lastBoxed(gold) ?? gold) ? 1 : 0.1;
}
