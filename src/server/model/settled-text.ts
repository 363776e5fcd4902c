import type { CallFormat, Said, SaidCall } from "../../policy/call-format.ts";
import type { ToolSpec } from "../../schema/message.ts";

/** The beginning of a text that no longer depends on how it goes on, and what it says. */
export interface Settled {
  readonly length: number;
  readonly said: Pick<Said, "answer" | "calls">;
}

/**
 * Reads how much of an answer that is still being sampled can be told: text outside of calls as it comes, calls when they are
 * closed. It ends before the first call that cannot be read. Formats that are not known here, or that answer in tags, are told at
 * the end. Every section is parsed once, and no character is looked at again and again: a policy may write thousands of calls.
 */
export interface SettledReader {
  /** All of the text so far, which begins with what was given before. */
  read(text: string): Settled;
}

/** A reader for one answer. */
export function settledReader(format: CallFormat, tools: readonly ToolSpec[]): SettledReader {
  const isThoughtOpen = format.parse("x").thought === "x";
  switch (format.name) {
    case "plain":
      return { read: (text) => settled(text.length, text, []) };
    case "hermes":
      return new TagReader(format, tools, { tags: ["think", "tool_call"], isThoughtOpen });
    case "llama":
      return new TagReader(format, tools, { tags: ["think"], isThoughtOpen, mayBeCall: true });
    case "compact":
      return new LineReader(format, tools);
    default:
      return { read: () => settled(0, "", []) };
  }
}

/** The same for a text that is whole. */
export function settledText(format: CallFormat, text: string, tools: readonly ToolSpec[]): Settled {
  return settledReader(format, tools).read(text);
}

function settled(length: number, answer: string, calls: readonly SaidCall[]): Settled {
  return { length, said: { answer: answer.trim(), calls } };
}

interface Mark {
  readonly start: number;
  readonly end: number;
  readonly tag: string;
  readonly isOpening: boolean;
}

interface TagOptions {
  readonly tags: readonly string[];
  /** The prompt has opened a thought, which has to be closed first. */
  readonly isThoughtOpen: boolean;
  /** A message that opens with a brace or a tag may become a call. */
  readonly mayBeCall?: boolean;
}

/** Text between tags: settled after each pair of tags; up to a tag that is open, stray or half there. */
class TagReader implements SettledReader {
  readonly #format: CallFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #tags: readonly string[];
  readonly #longest: number;
  readonly #calls: SaidCall[] = [];
  #answer = "";
  /** Everything before it is settled. */
  #at = 0;
  /** Everything before it has been searched for marks. */
  #searched = 0;
  #open: Mark | undefined;
  #isEnded = false;
  #mayBeCall: boolean;

  constructor(format: CallFormat, tools: readonly ToolSpec[], { tags, isThoughtOpen, mayBeCall = false }: TagOptions) {
    this.#format = format;
    this.#tools = tools;
    this.#tags = tags;
    this.#longest = Math.max(...tags.map((tag) => tag.length + "</>".length));
    this.#mayBeCall = mayBeCall;
    if (isThoughtOpen) this.#open = { start: 0, end: 0, tag: "think", isOpening: true };
  }

  read(text: string): Settled {
    while (!this.#isEnded && this.#advance(text));
    const isOutside = !this.#isEnded && this.#open === undefined && !this.#mayBeCall;
    const end = isOutside ? Math.max(this.#at, text.length - this.#halfTag(text)) : this.#at;
    return settled(end, joined(this.#answer, text.slice(this.#at, end)), this.#calls);
  }

  /** Past the next mark, if there is one. */
  #advance(text: string): boolean {
    if (this.#open === undefined && this.#mayBeCall && !this.#isAnswer(text)) return false;
    const mark = this.#nextMark(text, this.#open === undefined ? this.#tags : [this.#open.tag]);
    if (mark === undefined) return false;
    this.#isEnded = this.#open === undefined ? !this.#begin(text, mark) : !this.#close(text, this.#open, mark);
    return true;
  }

  #begin(text: string, mark: Mark): boolean {
    this.#answer = joined(this.#answer, text.slice(this.#at, mark.start));
    this.#at = mark.start;
    this.#open = mark;
    return mark.isOpening;
  }

  #close(text: string, open: Mark, mark: Mark): boolean {
    if (mark.isOpening) return false;
    if (open.tag !== "think") {
      const { calls } = this.#format.parse(text.slice(open.start, mark.end), this.#tools);
      if (calls.some(({ kind }) => kind !== "call")) return false;
      this.#calls.push(...calls);
    }
    this.#at = mark.end;
    this.#open = undefined;
    return true;
  }

  /** Whether the first character of the message shows that it is no call. */
  #isAnswer(text: string): boolean {
    this.#searched = Math.max(this.#searched, this.#at);
    while (this.#searched < text.length && text[this.#searched].trim() === "") this.#searched++;
    if (this.#searched === text.length) return false;
    this.#isEnded = "{<".includes(text[this.#searched]);
    this.#mayBeCall = this.#isEnded;
    return !this.#isEnded;
  }

  #nextMark(text: string, tags: readonly string[]): Mark | undefined {
    const pattern = new RegExp(`<(/?)(${tags.join("|")})>`, "g");
    pattern.lastIndex = this.#searched;
    const match = pattern.exec(text);
    // the beginning of a mark may be there already, and decoders may take back a space before punctuation
    const unseen = text.length - this.#longest - 4;
    this.#searched = match === null ? Math.max(this.#searched, unseen) : pattern.lastIndex;
    return match === null
      ? undefined
      : { start: match.index, end: pattern.lastIndex, tag: match[2], isOpening: match[1] === "" };
  }

  /** Length of what, at the end of the text, may become a tag. */
  #halfTag(text: string): number {
    const tail = text.slice(-this.#longest);
    const open = tail.lastIndexOf("<");
    const half = tail.slice(open);
    const isHalf = this.#tags.some((tag) => `<${tag}>`.startsWith(half) || `</${tag}>`.startsWith(half));
    return open >= 0 && isHalf ? half.length : 0;
  }
}

function joined(answer: string, part: string): string {
  const more = part.trim();
  return more === "" || answer === "" ? answer + more : `${answer}\n${more}`;
}

/** A call a line, until a line begins with `=`. */
class LineReader implements SettledReader {
  readonly #format: CallFormat;
  readonly #tools: readonly ToolSpec[];
  readonly #calls: SaidCall[] = [];
  #at = 0;
  #searched = 0;
  #isEnded = false;

  constructor(format: CallFormat, tools: readonly ToolSpec[]) {
    this.#format = format;
    this.#tools = tools;
  }

  read(text: string): Settled {
    while (!this.#isEnded && text[this.#at] !== "=") {
      const end = text.indexOf("\n", this.#searched);
      this.#searched = end < 0 ? text.length : end + 1;
      if (end < 0) break;
      this.#isEnded = !this.#readLine(text.slice(this.#at, end));
      if (!this.#isEnded) this.#at = end + 1;
    }
    const isAnswer = !this.#isEnded && text[this.#at] === "=";
    if (isAnswer) return settled(text.length, text.slice(this.#at + 1), this.#calls);
    return settled(this.#at, "", this.#calls);
  }

  #readLine(line: string): boolean {
    if (line.trim() === "" || line.startsWith("#")) return true;
    const { calls } = this.#format.parse(line, this.#tools);
    if (calls.some(({ kind }) => kind !== "call")) return false;
    this.#calls.push(...calls);
    return true;
  }
}
