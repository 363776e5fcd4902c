import { haveSameNumbers, readArithmetic } from "./arithmetic.ts";
import { tagContents } from "./format-tags.ts";

export interface Countdown {
  numbers: readonly number[];
  target: number;
}

/**
 * How a wrong equation is scored. `tiny-zero`: 0.1 for any equation. `ragen`: 0.1 where it uses the given numbers, else 0.
 */
type CountdownRule = "tiny-zero" | "ragen";

export interface TinyZeroOptions {
  /** As in the released code, only the last line is searched: an answer followed by a line end is not found. */
  lastLineOnly: boolean;
}

const defaults: TinyZeroOptions = { lastLineOnly: false };

/**
 * Countdown on the equation itself: 1 where it uses every number once and its value is within 1e-5 of the target. The released
 * code of TinyZero and RAGEN compares runs of digits, so that with 3, 5 and 2 it accepts `3.5*2` for 7; here 3.5 is one number.
 * An equation that cannot be evaluated is compared by its digits, as there.
 */
export function countdownScore(equation: string, { numbers, target }: Countdown, rule: CountdownRule): number {
  const read = readArithmetic(equation);
  const used = read?.numbers ?? (equation.match(/\d+/g) ?? []).map(Number);
  const usesNumbers = haveSameNumbers(used, numbers);
  if (usesNumbers && read !== undefined && Math.abs(read.value - target) < 1e-5) return 1;
  return rule === "tiny-zero" || usesNumbers ? 0.1 : 0;
}

/** TinyZero's Countdown on a response without its prompt: 1 for a right last `<answer>`, 0.1 for a wrong one, 0 for none. */
export function tinyZeroScore(response: string, task: Countdown, options: Partial<TinyZeroOptions> = {}): number {
  const { lastLineOnly } = { ...defaults, ...options };
  const text = lastLineOnly ? response.slice(response.lastIndexOf("\n") + 1) : response;
  const equation = tagContents(text, "answer").at(-1);
  return equation === undefined ? 0 : countdownScore(equation, task, "tiny-zero");
}
