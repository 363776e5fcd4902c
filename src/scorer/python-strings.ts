// Published scorers are written in Python, which defines white space and line ends differently from JavaScript.

const space = `(?:(?!\\ufeff)\\s|[${String.fromCharCode(0x1c)}-${String.fromCharCode(0x1f)}${String.fromCharCode(0x85)}])`;
const spaces = new RegExp(`${space}+`);
const oneSpace = new RegExp(`^${space}$`);
const lineEnd = new RegExp(
  `\\r\\n|[\\n-\\r${[0x1c, 0x1d, 0x1e, 0x85, 0x2028, 0x2029].map((code) => String.fromCharCode(code)).join("")}]`,
);

/** Python's `text.split()`. */
export function splitWords(text: string): string[] {
  return text.split(spaces).filter((word) => word !== "");
}

/** Python's `text.strip()`. */
export function strip(text: string): string {
  // by hand: an expression that ends in $ takes quadratic time on a long run of spaces
  let start = 0;
  let end = text.length;
  while (start < end && oneSpace.test(text[start])) start++;
  while (end > start && oneSpace.test(text[end - 1])) end--;
  return text.slice(start, end);
}

/** Python's `text.splitlines()`: no empty line after a last line end. */
export function splitLines(text: string): string[] {
  const lines = text.split(lineEnd);
  if (lines.at(-1) === "") lines.pop();
  return lines;
}

/** Python's `text.count(part)`, without overlaps. */
export function countOf(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** Python's `round(value)`: a half goes to the even neighbour. */
export function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  if (value - floor !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}
