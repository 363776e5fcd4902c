import type { CallFormat, Said } from "../../policy/call-format.ts";
import type { ToolSpec } from "../../schema/message.ts";

/** The beginning of a text that no longer depends on how it goes on, and what it says. */
export interface Settled {
  readonly length: number;
  readonly said: Said;
}

const nothing: Said = { calls: [], answer: "", isWellFormed: true };

/**
 * How much of an answer that is still being sampled can be told: text outside of calls as it comes, calls when they are closed.
 * It ends before the first call that cannot be read. Formats that are not known here, or that answer in tags, are told at the end.
 */
export function settledText(format: CallFormat, text: string, tools: readonly ToolSpec[]): Settled {
  const start = startOfWords(format, text);
  const ends = start < 0 ? [] : (settledEnds[format.name]?.(text.slice(start)) ?? []);
  for (const length of ends.map((end) => start + end).reverse()) {
    const said = format.parse(text.slice(0, length), tools);
    if (said.calls.every(({ kind }) => kind === "call")) return { length, said };
  }
  return { length: 0, said: nothing };
}

/** Where the prompt has opened a thought, that has to be closed first; -1 until then. */
function startOfWords(format: CallFormat, text: string): number {
  const isThoughtOpen = format.parse("x").thought === "x";
  if (!isThoughtOpen) return 0;
  const [first] = text.matchAll(/<\/?think>/g);
  return first?.[0] === "</think>" ? first.index + first[0].length : -1;
}

/** Places up to which a text may be settled, in order. */
const settledEnds: Readonly<Record<string, (text: string) => number[]>> = {
  plain: (text) => [text.length],
  hermes: (text) => endsOfSections(text, ["think", "tool_call"]),
  // a message that opens with a brace may become a call
  llama: (text) => (/^\s*([{<]|$)/.test(text) ? [] : endsOfSections(text, ["think"])),
  compact(text) {
    const answerAt = text.startsWith("=") ? 0 : text.indexOf("\n=");
    const calls = answerAt < 0 ? text : text.slice(0, answerAt + 1);
    const lines = Array.from(calls.matchAll(/\n/g), ({ index }) => index + 1);
    return answerAt < 0 ? lines : [...lines, text.length];
  },
};

/** After each piece of text outside the tags, and after each pair of tags; up to a tag that is open, stray or half there. */
function endsOfSections(text: string, tags: readonly string[]): number[] {
  const marks = Array.from(
    text.matchAll(new RegExp(`<(/?)(${tags.join("|")})>`, "g")),
    ({ 0: mark, 1: slash, 2: tag, index }) => {
      return { start: index, end: index + mark.length, isOpening: slash === "", tag };
    },
  );
  const ends: number[] = [];
  let at = 0;
  for (;;) {
    const next = marks.find(({ start }) => start >= at);
    const end = next?.start ?? text.length - halfTag(text, tags);
    if (end > at) ends.push(end);
    const partner = marks.find(({ start, tag }) => next !== undefined && start >= next.end && tag === next.tag);
    if (next === undefined || !next.isOpening || partner === undefined || partner.isOpening) return ends;
    at = partner.end;
    ends.push(at);
  }
}

/** Length of what, at the end of the text, may become a tag. */
function halfTag(text: string, tags: readonly string[]): number {
  const open = text.lastIndexOf("<");
  if (open < 0) return 0;
  const half = text.slice(open);
  return tags.some((tag) => `<${tag}>`.startsWith(half) || `</${tag}>`.startsWith(half)) ? half.length : 0;
}
