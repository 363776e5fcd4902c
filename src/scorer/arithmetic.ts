import { bounds } from "../bounds.ts";

export interface Arithmetic {
  readonly value: number;
  /** Every number as it stands in the text, from left to right; a sign before one is not part of it. */
  readonly numbers: readonly number[];
}

/**
 * Evaluates an expression such as `(3 + 5) * 2` without `eval`: numbers, `+ - * /`, signs and parentheses. Nothing for any other
 * text, for a division by zero, for more characters than `bounds.arithmetic`, which bounds the recursion. Python's `eval`, which the published scorers use, also
 * takes `**` and `//`; the tasks ask for neither.
 */
export function readArithmetic(text: string): Arithmetic | undefined {
  if (text.length > bounds.arithmetic) return undefined;
  const tokens = text.match(/\d+(?:\.\d*)?|\.\d+|\S/g) ?? [];
  const numbers: number[] = [];
  let at = 0;

  function sum(): number {
    let value = product();
    while (tokens[at] === "+" || tokens[at] === "-")
      value = tokens[at++] === "+" ? value + product() : value - product();
    return value;
  }

  function product(): number {
    let value = signed();
    while (tokens[at] === "*" || tokens[at] === "/") value = tokens[at++] === "*" ? value * signed() : value / signed();
    return value;
  }

  // NaN propagates, so no error has to be passed on
  function signed(): number {
    const token = tokens[at++] ?? "";
    if (token === "-") return -signed();
    if (token === "+") return signed();
    if (token === "(") {
      const value = sum();
      return tokens[at++] === ")" ? value : Number.NaN;
    }
    // as in Python, a whole number has no zeros before it
    if (!/\d/.test(token) || /^0+[1-9]\d*$/.test(token)) return Number.NaN;
    numbers.push(Number(token));
    return Number(token);
  }

  const value = sum();
  return at === tokens.length && Number.isFinite(value) ? { value, numbers } : undefined;
}

/** Whether both have the same numbers, each as often, in any order. */
export function haveSameNumbers(some: readonly number[], others: readonly number[]): boolean {
  const sorted = others.toSorted((a, b) => a - b);
  return some.length === others.length && some.toSorted((a, b) => a - b).every((number, i) => number === sorted[i]);
}
