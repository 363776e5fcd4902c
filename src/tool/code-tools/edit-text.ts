import { ToolError } from "../tool.ts";

/** Lines as `cat -n` shows them, `from` and `to` included. */
export function numbered(text: string, from = 1, to = Number.POSITIVE_INFINITY): string {
  const lines = linesOf(text);
  const shown = lines.slice(from - 1, Math.min(to, lines.length));
  return shown.map((line, index) => `${String(from + index).padStart(6)}\t${line}`).join("\n");
}

/** Without the empty one after a last line break. */
export function linesOf(text: string): string[] {
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Replaces the one place where `before` stands. */
export function replaceOnce(path: string, text: string, before: string, after: string): string {
  const at = before === "" ? -1 : text.indexOf(before);
  if (at < 0) throw new ToolError(`old_str is not in ${path}: nothing was replaced.`);
  const again = text.indexOf(before, at + 1);
  if (again >= 0) {
    const lines = [at, again].map((place) => text.slice(0, place).split("\n").length);
    throw new ToolError(`old_str is in ${path} more than once, at lines ${lines.join(" and ")}: nothing was replaced.`);
  }
  return text.slice(0, at) + after + text.slice(at + before.length);
}

/** Puts lines after that line; 0 is the beginning. */
export function insertAfter(path: string, text: string, line: number, added: string): string {
  const lines = linesOf(text);
  if (line > lines.length) throw new ToolError(`insert_line ${line} is beyond the ${lines.length} lines of ${path}.`);
  return ended([...lines.slice(0, line), ...linesOf(added), ...lines.slice(line)]);
}

/** Replaces a line by another of the same indentation. */
export function replaceLine(path: string, text: string, line: number, content: string): string {
  const lines = linesOf(text);
  const old = lines[line - 1];
  if (old === undefined) throw new ToolError(`${path} has ${lines.length} lines.`);
  const indentation = /^\s*/.exec(old)![0];
  return ended(lines.with(line - 1, indentation + content.trim()));
}

const [around, maxDiffLines] = [3, 200];

/** What an edit changed, as `diff -u` shows one hunk: from the first line that differs to the last. */
export function diffText(path: string, before: string, after: string): string {
  const [old, now] = [linesOf(before), linesOf(after)];
  const least = Math.min(old.length, now.length);
  let first = 0;
  while (first < least && old[first] === now[first]) first += 1;
  let last = 0;
  while (last < least - first && old.at(-1 - last) === now.at(-1 - last)) last += 1;
  const from = Math.max(0, first - around);
  const until = (lines: readonly string[]) => lines.length - last;
  const after3 = old.slice(until(old), until(old) + around);
  const signed = (sign: string, lines: readonly string[]) => lines.map((line) => `${sign}${line}`);
  const lines = [
    ...signed(" ", old.slice(from, first)),
    ...signed("-", old.slice(first, until(old))),
    ...signed("+", now.slice(first, until(now))),
    ...signed(" ", after3),
  ];
  const size = (all: readonly string[]) => `${from + 1},${until(all) - from + after3.length}`;
  const more = lines.length > maxDiffLines ? [`(${lines.length - maxDiffLines} more lines)`] : [];
  return [
    `--- a/${path}`,
    `+++ b/${path}`,
    `@@ -${size(old)} +${size(now)} @@`,
    ...lines.slice(0, maxDiffLines),
    ...more,
  ].join("\n");
}

const ended = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
