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

const ended = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join("");
