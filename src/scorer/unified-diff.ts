import { defined } from "../defined.ts";
import { type Budget, type Opcode, opcodes } from "./sequence-matcher.ts";

export interface UnifiedDiffOptions {
  fromFile: string;
  toFile: string;
  fromDate: string;
  toDate: string;
  /** Unchanged lines kept around a change. */
  context: number;
  /** What ends the lines made here (headers); lines of the input keep their own ends. */
  lineEnd: string;
  /** As for the sequence matcher. */
  budget?: Budget;
}

const defaults: UnifiedDiffOptions = { fromFile: "", toFile: "", fromDate: "", toDate: "", context: 3, lineEnd: "\n" };

/** Cuts opcodes into hunks with at most `context` equal lines at either end. */
function hunks(codes: readonly Opcode[], context: number): Opcode[][] {
  const head = (code: Opcode): Opcode => {
    const size = Math.min(context, code.aEnd - code.aStart);
    return { ...code, aEnd: code.aStart + size, bEnd: code.bStart + size };
  };
  const tail = (code: Opcode): Opcode => {
    const size = Math.min(context, code.aEnd - code.aStart);
    return { ...code, aStart: code.aEnd - size, bStart: code.bEnd - size };
  };
  const groups: Opcode[][] = [[]];
  for (const [index, code] of codes.entries()) {
    const group = groups.at(-1)!;
    const isLast = index === codes.length - 1;
    if (code.tag !== "equal") group.push(code);
    else if (index === 0) group.push(tail(code));
    else if (isLast) group.push(head(code));
    else if (code.aEnd - code.aStart <= 2 * context) group.push(code);
    else {
      group.push(head(code));
      groups.push([tail(code)]);
    }
  }
  return groups.filter((group) => group.some((code) => code.tag !== "equal"));
}

function range(start: number, end: number): string {
  const size = end - start;
  if (size === 1) return `${start + 1}`;
  // an empty range names the line before it
  return `${size === 0 ? start : start + 1},${size}`;
}

/** The lines of Python's `difflib.unified_diff(a, b, ...)`; none where nothing changed. */
export function unifiedDiff(
  a: readonly string[],
  b: readonly string[],
  options: Partial<UnifiedDiffOptions> = {},
): string[] {
  const { fromFile, toFile, fromDate, toDate, context, lineEnd, budget } = { ...defaults, ...options };
  const groups = hunks(opcodes(a, b, { autojunk: true, ...defined({ budget }) }), context);
  if (groups.length === 0) return [];
  const named = (name: string, date: string) => name + (date === "" ? "" : `\t${date}`);
  const lines = [`--- ${named(fromFile, fromDate)}${lineEnd}`, `+++ ${named(toFile, toDate)}${lineEnd}`];
  for (const hunk of groups) {
    const first = hunk[0];
    const last = hunk.at(-1)!;
    lines.push(`@@ -${range(first.aStart, last.aEnd)} +${range(first.bStart, last.bEnd)} @@${lineEnd}`);
    for (const { tag, aStart, aEnd, bStart, bEnd } of hunk) {
      // not pushed all at once: a call has room for some 100,000 arguments
      if (tag === "equal") for (const line of a.slice(aStart, aEnd)) lines.push(` ${line}`);
      if (tag === "replace" || tag === "delete") for (const line of a.slice(aStart, aEnd)) lines.push(`-${line}`);
      if (tag === "replace" || tag === "insert") for (const line of b.slice(bStart, bEnd)) lines.push(`+${line}`);
    }
  }
  return lines;
}
