const number = String.raw`-?\d+(?:\.\d+)?`;
const text = String.raw`"[^"\\]*"|'[^'\\]*'`;
const literal = `(?:${number}|${text})`;
const list = String.raw`[[({][^()[\]{}]*[\])}]`;
/** An assertion on one line, up to what is expected, and that, where it is written out. */
const assertions = [
  new RegExp(String.raw`^(\s*assert\b.*[^=!<>]==\s*)(${literal}|${list})(\s*(?:#.*)?)$`),
  new RegExp(
    String.raw`^(\s*self\.assert(?:Equal|Equals|ListEqual|DictEqual|TupleEqual|SetEqual)\(.*,\s*)(${literal}|${list})(\s*\)\s*)$`,
  ),
  new RegExp(
    String.raw`^(\s*assert(?:\.(?:equal|strictEqual|deepEqual|deepStrictEqual))\(.*,\s*)(${literal}|${list})(\s*\)\s*;?\s*)$`,
  ),
];
const parts = new RegExp(`${number}|${text}`, "g");

/**
 * The same tests with other expected values, where those are written out: code that does what it should cannot pass them. Code that is paid for whatever a
 * test compares with does, as nothing tells it which of the two it is run with. `draw` gives a whole number from 1 for each.
 */
export function changeExpected(source: string, draw: () => number): string {
  return source
    .split("\n")
    .map((line) => {
      for (const assertion of assertions) {
        const [, before, expected, after] = assertion.exec(line) ?? [];
        if (expected !== undefined) return `${before}${changed(expected, draw)}${after}`;
      }
      return line;
    })
    .join("\n");
}

function changed(expected: string, draw: () => number): string {
  const last = [...expected.matchAll(parts)].at(-1);
  if (last === undefined) return expected;
  const [found] = last;
  const isText = found.startsWith('"') || found.startsWith("'");
  const put = isText ? `${found.slice(0, -1)}${letters(draw())}${found.at(-1)}` : `${Number(found) + draw()}`;
  return expected.slice(0, last.index) + put + expected.slice(last.index + found.length);
}

/** A number in letters: what is added to a text looks no stranger than it has to. */
function letters(value: number): string {
  return [...value.toString(26)].map((digit) => String.fromCharCode(97 + Number.parseInt(digit, 26))).join("");
}
