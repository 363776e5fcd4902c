/** More brackets or signs inside one another than this are not read, so that no text can exhaust the stack. */
const deepest = 200;
const token = /\s*(?:(\d+\.?\d*|\.\d+)|([-+*/()]))/y;

/**
 * The value of an expression of numbers, + − * / and brackets; null for anything else, and where it divides by zero.
 * Nothing is executed. Powers (`**`) and whole division (`//`) are not read.
 */
export function evaluateArithmetic(text: string): number | null {
  const tokens = tokenize(text);
  if (tokens === null) return null;
  let at = 0;

  const sum = (depth: number): number | null => {
    let value = product(depth);
    while (value !== null && (tokens[at] === "+" || tokens[at] === "-")) {
      const sign = tokens[at++] === "+" ? 1 : -1;
      const right = product(depth);
      value = right === null ? null : value + sign * right;
    }
    return value;
  };

  const product = (depth: number): number | null => {
    let value = factor(depth);
    while (value !== null && (tokens[at] === "*" || tokens[at] === "/")) {
      const isDivision = tokens[at++] === "/";
      const right = factor(depth);
      if (right === null || (isDivision && right === 0)) return null;
      value = isDivision ? value / right : value * right;
    }
    return value;
  };

  const factor = (depth: number): number | null => {
    const next = tokens[at++];
    if (typeof next === "number") return next;
    if (depth >= deepest) return null;
    if (next === "-" || next === "+") {
      const value = factor(depth + 1);
      return value === null || next === "+" ? value : -value;
    }
    if (next !== "(") return null;
    const value = sum(depth + 1);
    return tokens[at++] === ")" ? value : null;
  };

  const value = sum(0);
  return at === tokens.length && value !== null && Number.isFinite(value) ? value : null;
}

function tokenize(text: string): (number | string)[] | null {
  const trimmed = text.trimEnd();
  const tokens: (number | string)[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < trimmed.length) {
    const match = token.exec(trimmed);
    if (match === null) return null;
    const [, number, sign] = match;
    // Python reads no whole number with a leading zero
    if (number !== undefined && /^0\d*[1-9]\d*$/.test(number)) return null;
    tokens.push(number === undefined ? sign! : Number(number));
  }
  return tokens;
}
