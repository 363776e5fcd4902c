import { readArithmetic } from "./arithmetic.ts";
import { tagContents } from "./format-tags.ts";

export interface Countdown {
  numbers: readonly number[];
  target: number;
}

export interface TinyZeroOptions {
  /** As in the released code: an answer anywhere but on the last line, say before a last line end, is none. */
  lastLineOnly: boolean;
}

const defaults: TinyZeroOptions = { lastLineOnly: false };

/** Whether the equation uses every number exactly as often as it is given, and no other. */
function usesNumbers(equation: string, numbers: readonly number[]): boolean {
  const used = (equation.match(/\d+/g) ?? []).map(Number).sort((a, b) => a - b);
  const given = [...numbers].sort((a, b) => a - b);
  return used.length === given.length && used.every((number, index) => number === given[index]);
}

function hitsTarget(equation: string, target: number): boolean {
  const read = readArithmetic(equation);
  return read !== undefined && Math.abs(read.value - target) < 1e-5;
}

/** TinyZero's Countdown on a response without its prompt: 1 for a right last `<answer>`, 0.1 for a wrong one, 0 for none. */
export function tinyZeroScore(response: string, task: Countdown, options: Partial<TinyZeroOptions> = {}): number {
  const { lastLineOnly } = { ...defaults, ...options };
  const text = lastLineOnly ? response.slice(response.lastIndexOf("\n") + 1) : response;
  const equation = tagContents(text, "answer").at(-1);
  if (equation === undefined) return 0;
  return usesNumbers(equation, task.numbers) && hitsTarget(equation, task.target) ? 1 : 0.1;
}

/** RAGEN's Countdown on the equation itself: 0 for the wrong numbers, 0.1 for the wrong value, 1 for the target. */
export function ragenCountdownScore(equation: string, task: Countdown): number {
  if (!usesNumbers(equation, task.numbers)) return 0;
  return hitsTarget(equation, task.target) ? 1 : 0.1;
}
