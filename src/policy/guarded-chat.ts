import { defined } from "../defined.ts";
import { type RenderChatOptions, renderChat } from "./chat-template.ts";
import type { TextRange, Tokenizer } from "./tokenizer.ts";

/** A rendered text, and the ranges of it where a control token's text is ordinary text: what `encode` takes as `plain`. */
export interface GuardedText {
  readonly text: string;
  readonly ranges: readonly TextRange[];
}

/**
 * Runs a template over messages and tools, and tells where they, not the template, wrote the text of a control token. In an
 * assistant's message only turn tokens count: `<think>` and `<tool_call>` are its own to write. So they are in a system message,
 * which is the developer's and says how to write them.
 */
export function renderGuarded(tokenizer: Tokenizer, options: Omit<RenderChatOptions, "specialTokens">): GuardedText {
  const { all, turns } = controlTexts(tokenizer);
  const [open, close] = unusedCharacters(JSON.stringify([options.messages, options.tools ?? [], options.template]), 2);
  const marks = { open: open, close: close };
  const marked = renderChat({
    ...options,
    specialTokens: tokenizer.specialTokens,
    messages: options.messages.map((message) => mark(message, mayWriteMarkup(message.role) ? turns : all, marks)),
    ...defined({ tools: options.tools === undefined ? undefined : mark(options.tools, all, marks) }),
  });
  return unmark(marked, all, marks);
}

/** Whose messages may hold markup such as `<think>` that is a token of its own. */
export function mayWriteMarkup(role: string): boolean {
  return role === "assistant" || role === "system";
}

/** Where the text of a turn token stands in what an assistant says. */
export function turnTextRanges(tokenizer: Tokenizer, text: string): TextRange[] {
  return rangesOf(controlTexts(tokenizer).turns, text);
}

/** Where the text of a control token, markup included, stands. */
export function controlTextRanges(tokenizer: Tokenizer, text: string): TextRange[] {
  return rangesOf(controlTexts(tokenizer).all, text);
}

function rangesOf(texts: string | undefined, text: string): TextRange[] {
  if (texts === undefined) return [];
  return Array.from(text.matchAll(new RegExp(texts, "gu")), ({ 0: found, index }) => ({
    start: index,
    end: index + found.length,
  }));
}

/** The control tokens that shape a conversation: those that decoding leaves out. */
export function turnTokens(tokenizer: Tokenizer): ReadonlySet<number> {
  return controlTexts(tokenizer).turnIds;
}

/** Private-use characters that a text does not contain. */
export function unusedCharacters(text: string, count: number): string[] {
  const free: string[] = [];
  for (let code = 0xf0000; free.length < count; code++) {
    const character = String.fromCodePoint(code);
    if (!text.includes(character)) free.push(character);
  }
  return free;
}

interface ControlTexts {
  /** Regular expressions; undefined where there is nothing to find. */
  readonly all: string | undefined;
  readonly turns: string | undefined;
  readonly turnIds: ReadonlySet<number>;
}

const known = new WeakMap<Tokenizer, ControlTexts>();

function controlTexts(tokenizer: Tokenizer): ControlTexts {
  const cached = known.get(tokenizer);
  if (cached !== undefined) return cached;
  const turns = [...tokenizer.controlTokens].filter(([, id]) => tokenizer.decode([id]) === "");
  const texts = {
    all: alternatives([...tokenizer.controlTokens.keys()]),
    turns: alternatives(turns.map(([text]) => text)),
    turnIds: new Set(turns.map(([, id]) => id)),
  };
  known.set(tokenizer, texts);
  return texts;
}

function alternatives(texts: readonly string[]): string | undefined {
  if (texts.length === 0) return undefined;
  const longestFirst = [...texts].sort((a, b) => b.length - a.length);
  return longestFirst.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")).join("|");
}

interface Marks {
  readonly open: string;
  readonly close: string;
}

/** Puts every control text in the strings of a value, names of fields included, between marks. */
function mark<Value>(value: Value, texts: string | undefined, marks: Marks): Value {
  if (texts === undefined) return value;
  const pattern = new RegExp(texts, "gu");
  const markText = (text: string) => text.replace(pattern, (found) => marks.open + found + marks.close);
  const visit = (part: unknown): unknown => {
    if (typeof part === "string") return markText(part);
    if (Array.isArray(part)) return part.map(visit);
    if (typeof part !== "object" || part === null) return part;
    return Object.fromEntries(Object.entries(part).map(([key, field]) => [markText(key), visit(field)]));
  };
  return visit(value) as Value;
}

/** Removes the marks and returns their ranges. A mark that the template separated from its partner still counts. */
function unmark(marked: string, texts: string | undefined, { open, close }: Marks): GuardedText {
  const ranges: TextRange[] = [];
  let text = "";
  let end = 0;
  const control = texts === undefined ? "" : `${open}(${texts})${close}|`;
  for (const match of marked.matchAll(new RegExp(`${control}[${open}${close}]`, "gu"))) {
    text += marked.slice(end, match.index);
    end = match.index + match[0].length;
    ranges.push({ start: text.length, end: text.length + (match[1]?.length ?? 0) });
    text += match[1] ?? "";
  }
  return { text: text + marked.slice(end), ranges };
}
