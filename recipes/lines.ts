/**
 * The lines that programs of these recipes are made of, run without Python: for what a recipe itself made, where its value is only to be known, and
 * for self-play, whose language this is. What a model wrote in Python is run by Python, in boxes.
 */

const binary = /^a=a(\+|-|\*|\/\/|%)(\d{1,2}|a)$/;
const called = /^a=(max|min)\(a,(\d{1,2})\)$/;
const chance = /^a=rnd\((\d{1,2})\)$/;

/**
 * What lines give, one after the other, or undefined where one does not run. An empty line does nothing. `rnd(5)`, which Python does not have, is there
 * so that a test can be made to fail by chance; `seed` is all that is random about it.
 */
export function runLines(lines: readonly string[], input: number, seed = 0): number | undefined {
  let a: number | undefined = input;
  for (const line of lines) {
    if (line !== "") a = runLine(line, a, seed);
    if (a === undefined || !Number.isSafeInteger(a)) return undefined;
  }
  return a;
}

function runLine(line: string, a: number, seed: number): number | undefined {
  const [, operator, operand] = binary.exec(line) ?? [];
  if (operator !== undefined) return apply(operator, a, operand === "a" ? a : Number(operand));
  const [, name, bound] = called.exec(line) ?? [];
  if (name !== undefined) return name === "max" ? Math.max(a, Number(bound)) : Math.min(a, Number(bound));
  const [, below] = chance.exec(line) ?? [];
  return below === undefined || Number(below) === 0 ? undefined : (seed * 7919 + 13) % Number(below);
}

function apply(operator: string, a: number, b: number): number | undefined {
  if (operator === "+") return a + b;
  if (operator === "-") return a - b;
  if (operator === "*") return a * b;
  if (b === 0) return undefined;
  return operator === "//" ? Math.floor(a / b) : a - b * Math.floor(a / b);
}
