/** First and last code point, both included. */
export type CodeRange = readonly [low: number, high: number];

export type Node =
  | { readonly kind: "class"; readonly ranges: readonly CodeRange[] }
  | { readonly kind: "sequence"; readonly parts: readonly Node[] }
  | { readonly kind: "choice"; readonly parts: readonly Node[] }
  | { readonly kind: "repeat"; readonly part: Node; readonly least: number; readonly most?: number };

const last = 0x10ffff;
const maxLength = 2_000;
const maxDepth = 50;
const maxTimes = 1_000;

const classes: Readonly<Record<string, readonly CodeRange[]>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [160, 160],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};
const controls: Readonly<Record<string, number>> = { n: 10, r: 13, t: 9, f: 12, v: 11, "0": 0 };

class NotRegular extends Error {}

/** The tree of an expression; undefined where it is not one of a regular language, or beyond the bounds. `^` and `$` may stand at its ends. */
export function parseExpression(expression: string): Node | undefined {
  if (expression.length > maxLength) return undefined;
  const parser = new Parser(expression);
  try {
    return parser.whole();
  } catch (error) {
    if (error instanceof NotRegular) return undefined;
    throw error;
  }
}

class Parser {
  readonly #codes: readonly string[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    const codes = [...text];
    if (codes[0] === "^") codes.shift();
    // an escaped dollar is a character: an odd number of backslashes stands before it
    if (codes.at(-1) === "$" && (/\\*$/.exec(codes.slice(0, -1).join(""))?.[0].length ?? 0) % 2 === 0) codes.pop();
    this.#codes = codes;
  }

  whole(): Node {
    const node = this.#choice();
    if (this.#at < this.#codes.length) throw new NotRegular();
    return node;
  }

  #choice(): Node {
    const parts = [this.#sequence()];
    while (this.#take("|")) parts.push(this.#sequence());
    return parts.length === 1 ? parts[0] : { kind: "choice", parts };
  }

  #sequence(): Node {
    const parts: Node[] = [];
    while (this.#at < this.#codes.length && this.#peek() !== "|" && this.#peek() !== ")") parts.push(this.#repeated());
    return { kind: "sequence", parts };
  }

  #repeated(): Node {
    const part = this.#atom();
    const times = this.#times();
    if (times === undefined) return part;
    // `a*?` and `a*+` say which match is found; a language has no such thing
    if (["*", "+", "?"].includes(this.#peek()) || this.#isCount()) throw new NotRegular();
    return { kind: "repeat", part, ...times };
  }

  #times(): { least: number; most?: number } | undefined {
    if (this.#take("*")) return { least: 0 };
    if (this.#take("+")) return { least: 1 };
    if (this.#take("?")) return { least: 0, most: 1 };
    const count = this.#isCount();
    if (count === undefined) return undefined;
    this.#at += [...count[0]].length;
    const least = Number(count[1]);
    const most = count[2] === undefined ? least : count[3] === "" ? undefined : Number(count[3]);
    if (Math.max(least, most ?? 0) > maxTimes || (most !== undefined && most < least)) throw new NotRegular();
    return most === undefined ? { least } : { least, most };
  }

  #isCount(): RegExpExecArray | undefined {
    if (this.#peek() !== "{") return undefined;
    return /^\{(\d{1,4})(,(\d{0,4}))?\}/.exec(this.#codes.slice(this.#at, this.#at + 12).join("")) ?? undefined;
  }

  #atom(): Node {
    const code = this.#next();
    if (code === "(") return this.#group();
    if (code === "[") return { kind: "class", ranges: this.#class() };
    if (code === ".")
      return {
        kind: "class",
        ranges: inverted([
          [10, 10],
          [13, 13],
          [0x2028, 0x2029],
        ]),
      };
    if (code === "\\") return { kind: "class", ranges: this.#escape() };
    if (["*", "+", "?", ")", "^", "$"].includes(code)) throw new NotRegular();
    return { kind: "class", ranges: [single(code)] };
  }

  #group(): Node {
    if (++this.#depth > maxDepth) throw new NotRegular();
    if (this.#take("?") && !this.#take(":")) throw new NotRegular();
    const node = this.#choice();
    if (!this.#take(")")) throw new NotRegular();
    this.#depth--;
    return node;
  }

  #class(): readonly CodeRange[] {
    const isInverted = this.#take("^");
    const ranges: CodeRange[] = [];
    while (!this.#take("]")) {
      const first = this.#member();
      const isRange = this.#peek() === "-" && this.#codes[this.#at + 1] !== "]" && this.#at + 1 < this.#codes.length;
      if (!isRange) {
        ranges.push(...first);
        continue;
      }
      this.#at++;
      const second = this.#member();
      if (first.length !== 1 || second.length !== 1 || first[0][0] > second[0][1]) throw new NotRegular();
      ranges.push([first[0][0], second[0][1]]);
    }
    return isInverted ? inverted(ranges) : ranges;
  }

  #member(): readonly CodeRange[] {
    const code = this.#next();
    return code === "\\" ? this.#escape() : [single(code)];
  }

  #escape(): readonly CodeRange[] {
    const code = this.#next();
    const lower = code.toLowerCase();
    if (Object.hasOwn(classes, lower)) return code === lower ? classes[lower] : inverted(classes[lower]);
    if (Object.hasOwn(controls, code)) return [[controls[code], controls[code]]];
    // back references, boundaries, properties and code points are not read
    if (/[\p{L}\p{N}]/u.test(code)) throw new NotRegular();
    return [single(code)];
  }

  #peek(): string {
    return this.#codes[this.#at] ?? "";
  }

  #take(code: string): boolean {
    if (this.#peek() !== code) return false;
    this.#at++;
    return true;
  }

  #next(): string {
    if (this.#at >= this.#codes.length) throw new NotRegular();
    return this.#codes[this.#at++];
  }
}

function single(code: string): CodeRange {
  const point = code.codePointAt(0)!;
  return [point, point];
}

function inverted(ranges: readonly CodeRange[]): readonly CodeRange[] {
  const left: CodeRange[] = [];
  let from = 0;
  for (const [low, high] of [...ranges].sort((a, b) => a[0] - b[0])) {
    if (low > from) left.push([from, low - 1]);
    from = Math.max(from, high + 1);
  }
  if (from <= last) left.push([from, last]);
  return left;
}
