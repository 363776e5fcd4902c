import type { Rng } from "../../random.ts";

export type Operator = "+" | "-" | "*" | "/";

/** A number, or two terms joined by an operator. */
export interface Term {
  readonly value: number;
  readonly text: string;
  /** What joins its parts last; none for a number. */
  readonly operator?: Operator;
}

export function numberTerm(value: number): Term {
  return { value, text: String(value) };
}

/** With no more parentheses than needed. */
export function joinTerms(left: Term, operator: Operator, right: Term): Term {
  const isStrong = operator === "*" || operator === "/";
  const isWeak = ({ operator: inner }: Term) => inner === "+" || inner === "-";
  const rightNeeds = isStrong ? right.operator !== undefined : operator === "-" && isWeak(right);
  const first = isStrong && isWeak(left) ? `(${left.text})` : left.text;
  const second = rightNeeds ? `(${right.text})` : right.text;
  return { value: compute(left.value, operator, right.value), text: first + operator + second, operator };
}

function compute(left: number, operator: Operator, right: number): number {
  switch (operator) {
    case "+":
      return left + right;
    case "-":
      return left - right;
    case "*":
      return left * right;
    case "/":
      return left / right;
    default:
      return operator satisfies never;
  }
}

/** An expression that uses every number once and has the value `target`, or nothing. Tries every way to join two terms. */
export function solveCountdown(
  numbers: readonly number[],
  target: number,
  operators: readonly Operator[] = ["+", "-", "*", "/"],
): string | undefined {
  return search(numbers.map(numberTerm), target, operators);
}

function search(terms: readonly Term[], target: number, operators: readonly Operator[]): string | undefined {
  if (terms.length === 1) return Math.abs(terms[0].value - target) < 1e-9 ? terms[0].text : undefined;
  for (let i = 0; i < terms.length; i++) {
    for (let j = 0; j < terms.length; j++) {
      if (i === j) continue;
      const rest = terms.filter((_, index) => index !== i && index !== j);
      for (const operator of operators) {
        // a + b is b + a
        if (i > j && (operator === "+" || operator === "*")) continue;
        const joined = joinTerms(terms[i], operator, terms[j]);
        if (!Number.isFinite(joined.value)) continue;
        const found = search([...rest, joined], target, operators);
        if (found !== undefined) return found;
      }
    }
  }
  return undefined;
}

/**
 * How three numbers are worked out in the head: each is set aside in turn, and what the other two would have to make is written down
 * until they can make it. With 3, 5, 2 and 16: `3:13,19 5:11,21 2:14,18,8=5+3`, then `(5+3)*2` on a line of its own. Other counts, and
 * targets that are not reached so (a product of the target, a fraction), are answered without working.
 */
export function workOut(numbers: readonly number[], target: number): string | undefined {
  if (numbers.length !== 3) return solveCountdown(numbers, target);
  const tried: string[] = [];
  for (const [index, aside] of numbers.entries()) {
    const others = numbers.filter((_, other) => other !== index);
    const seen: number[] = [];
    for (const { needed, operator, isLeft } of neededBeside(aside, target)) {
      seen.push(needed);
      const pair = solvePair(others, needed);
      if (pair === undefined) continue;
      const rest = numberTerm(aside);
      const { text } = isLeft ? joinTerms(rest, operator, pair) : joinTerms(pair, operator, rest);
      return `${[...tried, `${aside}:${seen.join(",")}=${pair.text}`].join(" ")}\n${text}`;
    }
    tried.push(`${aside}:${seen.join(",")}`);
  }
  return solveCountdown(numbers, target);
}

/** What has to stand beside a number for the target, and how they are joined; `isLeft` where the number comes first. */
function neededBeside(aside: number, target: number) {
  const difference =
    target >= aside
      ? { needed: target - aside, operator: "+" as const, isLeft: false }
      : { needed: aside - target, operator: "-" as const, isLeft: true };
  const sum = { needed: target + aside, operator: "-" as const, isLeft: false };
  const quotient = { needed: target / aside, operator: "*" as const, isLeft: false };
  return [difference, sum, ...(Number.isInteger(quotient.needed) ? [quotient] : [])];
}

function solvePair([first, second]: readonly number[], needed: number): Term | undefined {
  const [a, b] = [numberTerm(Math.max(first, second)), numberTerm(Math.min(first, second))];
  return (["+", "-", "*", "/"] as const)
    .map((operator) => joinTerms(a, operator, b))
    .find(({ value }) => value === needed);
}

/** A term of all numbers, joined at random. */
export function joinAtRandom(numbers: readonly number[], operators: readonly Operator[], rng: Rng): Term {
  const terms = numbers.map(numberTerm);
  const take = () => terms.splice(rng.integer(terms.length), 1)[0];
  while (terms.length > 1) {
    const [left, right] = [take(), take()];
    terms.push(joinTerms(left, operators[rng.integer(operators.length)], right));
  }
  return terms[0];
}
