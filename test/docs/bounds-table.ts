import { readFileSync } from "node:fs";
import { bounds } from "../../src/bounds.ts";

/** Every bound with its value and its comment in the source. */
export function boundsTable(): string {
  const source = readFileSync("src/bounds.ts", "utf8");
  const comments = new Map(
    Array.from(source.matchAll(/\/\*\* ([^\n]*?) \*\/\n\s*(\w+):/g), ([, comment, name]) => [name, comment]),
  );
  const rows = Object.entries(bounds).map(([name, value]) => {
    const comment = comments.get(name);
    if (comment === undefined) throw new Error(`src/bounds.ts: no comment of one line above ${name}`);
    return `| \`${name}\` | ${value.toLocaleString("en")} | ${comment} |`;
  });
  return `${["| bound | at most | of what |", "|---|--:|---|", ...rows.sort()].join("\n")}\n`;
}
