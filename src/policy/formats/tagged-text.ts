import type { KnownOptions } from "../../known-options.ts";

/** A section of text: between a pair of tags, or, as `text`, outside all of them. */
export interface Section {
  readonly tag: string;
  readonly text: string;
  readonly isClosed: boolean;
}

export interface TaggedText {
  readonly thought: string;
  readonly sections: readonly Section[];
  /** What stands outside the tags. */
  readonly outside: string;
  /** Tags are paired, none is inside another, and sections come in the order asked for. */
  readonly isOrdered: boolean;
}

export interface ThoughtOptions {
  /** The prompt has already written `<think>`, as some templates of thinking models do: the policy only closes it. */
  thoughtIsOpen?: boolean;
}

export const knownThoughtOptions: KnownOptions<ThoughtOptions> = { thoughtIsOpen: true };

/**
 * Reads text with `<think>` and the given tags. `order` is matched against the names of the sections, `text` for what is
 * outside: `/^(think )?(search |answer )$/`.
 *
 * A tag that is not closed reaches to the next tag that opens, so that a forgotten `</think>` does not hide the call after it.
 */
export function readTags(
  text: string,
  tags: readonly string[],
  order: RegExp,
  { thoughtIsOpen = false }: ThoughtOptions = {},
): TaggedText {
  const { sections, isPaired } = cutAtTags(thoughtIsOpen ? `<think>${text}` : text, ["think", ...tags]);
  const textOf = (tag: string) =>
    sections
      .filter((section) => section.tag === tag)
      .map((section) => section.text.trim())
      .join("\n");
  const names = sections.map((section) => `${section.tag} `).join("");
  return { thought: textOf("think"), sections, outside: textOf("text"), isOrdered: isPaired && order.test(names) };
}

/** What opens a turn of a tagged format. An empty thought is written only where the prompt has opened it. */
export function writeThought(thought: string | undefined, { thoughtIsOpen = false }: ThoughtOptions = {}): string {
  const isEmpty = thought === undefined || thought.trim() === "";
  if (isEmpty) return thoughtIsOpen ? "</think>" : "";
  return `${thoughtIsOpen ? "" : "<think>"}${thought.trim()}</think>`;
}

/** The answer in its tags, where there is one or nothing else was said. */
export function writeAnswer(answer: string | undefined, said: string): string {
  const text = (answer ?? "").trim();
  return text !== "" || said === "" ? `<answer>${text}</answer>` : "";
}

function cutAtTags(text: string, tags: readonly string[]): { sections: Section[]; isPaired: boolean } {
  const marks = Array.from(text.matchAll(new RegExp(`<(/?)(${tags.join("|")})>`, "g")), (match) => ({
    start: match.index,
    end: match.index + match[0].length,
    isOpening: match[1] === "",
    tag: match[2],
  }));
  const sections: Section[] = [];
  const addOutside = (start: number, end: number) => {
    const outside = text.slice(start, end);
    if (outside.trim() !== "") sections.push({ tag: "text", text: outside, isClosed: true });
  };
  let isPaired = true;
  let at = 0;
  marks.forEach((mark, index) => {
    if (mark.start < at) return;
    if (!mark.isOpening) {
      isPaired = false;
      return;
    }
    addOutside(at, mark.start);
    let partner = index + 1;
    while (partner < marks.length && marks[partner].tag !== mark.tag) partner++;
    const isClosed = marks[partner]?.isOpening === false;
    if (!isClosed) {
      partner = index + 1;
      while (partner < marks.length && !marks[partner].isOpening) partner++;
    }
    isPaired &&= isClosed && partner === index + 1;
    sections.push({ tag: mark.tag, text: text.slice(mark.end, marks[partner]?.start), isClosed });
    at = (isClosed ? marks[partner]?.end : marks[partner]?.start) ?? text.length;
  });
  addOutside(at, text.length);
  return { sections, isPaired };
}
