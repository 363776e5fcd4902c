import type { Rng } from "../../src/random.ts";

export function pick<Value>(rng: Rng, values: readonly Value[]): Value {
  return values[rng.integer(values.length)];
}

/** Small more often than large: the exponent is uniform. */
export function size(rng: Rng, most: number): number {
  return Math.floor((most + 1) ** rng.next()) - 1;
}

const tags = [
  "think",
  "tool_call",
  "answer",
  "search",
  "information",
  "action",
  "solution",
  "response",
  "result",
  "tools",
];

const marks = [
  ...tags.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag}`, `<${tag} >`]),
  "Thought:",
  "Action:",
  "Action Input:",
  "Final Answer:",
  "Observation:",
  "<|im_start|>",
  "<|im_end|>",
  "<|eot_id|>",
  "<|python_tag|>",
  "<|endoftext|>",
  "[INST]",
  "<s>",
  "</s>",
  "\\boxed{",
  "\\boxed",
  "\\frac{1}{",
  "\\sqrt",
  "^{",
  "}",
  "{",
  "[",
  "]",
  "(",
  ")",
  "||",
  ";",
  ",",
  ":",
  "=",
  "\n=",
  "\n",
  "```",
  "```python\n",
  "```json\n",
  "<<<<<<< SEARCH\n",
  "=======\n",
  ">>>>>>> REPLACE\n",
  "### a.py\n",
  "--- a/a.py\n",
  "+++ b/a.py\n",
  "@@ -1,2 +1,2 @@\n",
  "@@ -0,0 +1,999999999 @@\n",
  "search(",
  "goto(",
  "click(1,2)",
  "(12, 34)",
  "Up",
  "Down",
  "&amp;",
  "&#x110000;",
  "&#99999999999;",
  "&lt;script&gt;",
]; // prettier-ignore

const odd = [
  "\ud800",
  "\udfff",
  "\ud83d\ude00",
  "e\u0301",
  "\u202e",
  "\u0000",
  "\u001b[31m",
  "\ufeff",
  "\u2028",
  "\u200b",
  "\u00a0",
  "\u{1f469}\u200d\u{1f469}\u200d\u{1f467}",
  "İ",
  "ß",
  "ﬁ",
  "٣",
  "東京",
  "\r\n",
  "\t",
  "\\",
  '"',
  "'",
  "`",
  "$&",
  "$1",
  "%s",
  "%00",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "NaN",
  "undefined",
];

const numbers = [
  "0",
  "-0",
  "1",
  "42",
  "3.14",
  "1e999",
  "-1e-999",
  "9".repeat(30),
  "1/0",
  "0x1F",
  "1_000",
  "1,000",
  "٣٤",
  ".5",
  "+7",
  "1e",
  "²",
  "½",
];

const words = [
  "a",
  "x",
  "tea",
  "the answer is",
  "search",
  "book",
  "query",
  "name",
  "arguments",
  "price",
  "left",
  "f",
  "return",
];

/** A piece of text out of which larger ones are made. */
export function piece(rng: Rng): string {
  return pick(rng, pick(rng, [marks, marks, odd, numbers, words]));
}

/** Text of at most about `most` characters, of the kinds that break readers: tags, brackets, repetition, nesting, cut ends. */
export function hostileText(rng: Rng, most = 60_000): string {
  return structure(rng, 1 + size(rng, most), 0).slice(0, most * 2);
}

function structure(rng: Rng, room: number, depth: number): string {
  if (room < 24 || depth > 6)
    return Array.from({ length: 1 + rng.integer(6) }, () => piece(rng)).join(pick(rng, ["", " ", "\n"]));
  switch (rng.integer(7)) {
    case 0: {
      const unit = Array.from({ length: 1 + rng.integer(3) }, () => piece(rng)).join("");
      return unit.repeat(Math.max(1, Math.floor(room / unit.length)));
    }
    case 1:
      return nested(rng, room, depth);
    case 2:
      return JSON.stringify(jsonValue(rng, Math.min(room, 2_000)));
    case 3:
      return section(rng, structure(rng, room / 2, depth + 1));
    case 4:
      return cut(rng, structure(rng, room, depth + 1));
    case 5:
      return call(rng, room);
    default: {
      const parts = 2 + rng.integer(4);
      return Array.from({ length: parts }, () => structure(rng, room / parts, depth + 1)).join(
        pick(rng, ["", " ", "\n"]),
      );
    }
  }
}

function nested(rng: Rng, room: number, depth: number): string {
  const [open, close] = pick(rng, [
    ["[", "]"],
    ['{"a":', "}"],
    ["(", ")"],
    ["\\boxed{", "}"],
    ["<think>", "</think>"],
    ["\\frac{", "}{2}"],
    ["((1+", ")*2)"],
    ["-", ""],
    ["<tool_call>", ""],
  ]); // prettier-ignore
  const times = Math.floor(room / (open.length + close.length + 1));
  const closings = rng.next() < 0.7 ? times : rng.integer(times + 1);
  return open.repeat(times) + structure(rng, 20, depth + 1) + close.repeat(closings);
}

function section(rng: Rng, text: string): string {
  const tag = pick(rng, tags);
  return `<${tag}>${text}</${rng.next() < 0.9 ? tag : pick(rng, tags)}>`;
}

/** A call as some format writes it, right or nearly. */
function call(rng: Rng, room: number): string {
  const name = pick(rng, ["search", "book", "now", piece(rng)]);
  const args = rng.next() < 0.8 ? JSON.stringify(jsonObject(rng, Math.min(room, 500))) : structure(rng, room / 4, 5);
  return pick(rng, [
    `<tool_call>\n{"name": ${JSON.stringify(name)}, "arguments": ${args}}\n</tool_call>`,
    `{"name": ${JSON.stringify(name)}, "parameters": ${args}}`,
    `Thought: x\nAction: ${name}\nAction Input: ${args}`,
    `<action>${name}(${args})</action>`,
    `<search>${args}</search>`,
    `${name} ${args}\n`,
  ]);
}

/** Loses, doubles or moves a slice. */
export function cut(rng: Rng, text: string): string {
  const start = rng.integer(text.length + 1);
  const end = start + rng.integer(Math.min(200, text.length - start) + 1);
  const slice = text.slice(start, end);
  switch (rng.integer(4)) {
    case 0:
      return text.slice(0, start) + text.slice(end);
    case 1:
      return text.slice(0, start);
    case 2:
      return text.slice(0, end) + slice + text.slice(end);
    default:
      return text.slice(0, start) + piece(rng) + text.slice(end);
  }
}

/** Any JSON value of about so many parts; now and then a deep one. */
export function jsonValue(rng: Rng, room: number): unknown {
  if (rng.next() < 0.03) return deepValue(rng, size(rng, 1_000));
  if (room < 4) return leaf(rng);
  const length = 1 + size(rng, Math.min(room, 30));
  if (rng.next() < 0.5) return Array.from({ length }, () => jsonValue(rng, room / length));
  return jsonObject(rng, room);
}

export function jsonObject(rng: Rng, room: number): Record<string, unknown> {
  const length = 1 + size(rng, Math.min(room, 20));
  const entries = Array.from({ length }, (): [string, unknown] => [
    pick(rng, ["query", "name", "place", "seats", "note", piece(rng)]),
    jsonValue(rng, room / length / 2),
  ]);
  // defineProperty: a key named __proto__ must be a key
  return Object.fromEntries(entries);
}

export function deepValue(rng: Rng, depth: number): unknown {
  let value: unknown = leaf(rng);
  const inArray = rng.next() < 0.5;
  for (let level = 0; level < depth; level++) value = inArray ? [value] : { a: value };
  return value;
}

function leaf(rng: Rng): unknown {
  return pick(rng, [
    null,
    true,
    false,
    0,
    -0,
    1,
    -1,
    0.1,
    1e308,
    -1e-308,
    2 ** 53,
    rng.normal(),
    "",
    piece(rng),
    piece(rng) + piece(rng),
  ]); // prettier-ignore
}

/** The same value with some of it replaced, removed or added, as a hostile author of a file would. */
export function mutatedJson(rng: Rng, value: unknown, share = 0.05): unknown {
  if (rng.next() < share) return rng.next() < 0.7 ? oddLeaf(rng) : jsonValue(rng, 20);
  if (Array.isArray(value)) {
    const kept = value.filter(() => rng.next() > share / 2).map((inner) => mutatedJson(rng, inner, share));
    return rng.next() < share ? [...kept, ...kept] : kept;
  }
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value)
    .filter(() => rng.next() > share / 2)
    .map(([key, inner]): [string, unknown] => [
      rng.next() < share / 4 ? piece(rng) : key,
      mutatedJson(rng, inner, share),
    ]);
  if (rng.next() < share) entries.push([piece(rng), jsonValue(rng, 5)]);
  return Object.fromEntries(entries);
}

function oddLeaf(rng: Rng): unknown {
  return pick(rng, [
    null,
    -1,
    0,
    1.5,
    1e12,
    2 ** 31,
    2 ** 53,
    -(2 ** 63),
    "",
    "..",
    "../../../etc/passwd",
    "/etc/passwd",
    "(a+)+$",
    "(a|a)*b",
    "((((",
    "[",
    "\\p{",
    "x".repeat(5_000),
    "\ud800",
    true,
    [],
    {},
    "NaN",
    "\u0000",
    "(?<=a)+",
    "(\\s*)*$",
    "(.*)*x",
  ]); // prettier-ignore
}
