/**
 * How strictly tags are read. `strict`: every tag of the format exactly once (or properly paired where blocks repeat), none
 * inside another. `published`: to the letter of the released expression, which lets nested or doubled tags pass.
 */
export type TagRule = "strict" | "published";

export interface TagBlock {
  name: string;
  content: string;
  start: number;
  end: number;
}

/** The blocks `<name>…</name>` in order; null where a tag of these names is nested, doubled or without its partner. */
export function tagBlocks(text: string, names: readonly string[]): TagBlock[] | null {
  const blocks: TagBlock[] = [];
  let open: { name: string; start: number; contentStart: number } | undefined;
  for (const tag of text.matchAll(new RegExp(`<(/?)(${names.join("|")})>`, "g"))) {
    const name = tag[2];
    const end = tag.index + tag[0].length;
    if (tag[1] === "") {
      if (open !== undefined) return null;
      open = { name, start: tag.index, contentStart: end };
    } else {
      if (open?.name !== name) return null;
      blocks.push({ name, content: text.slice(open.contentStart, tag.index), start: open.start, end });
      open = undefined;
    }
  }
  return open === undefined ? blocks : null;
}

/**
 * Whether the whole text is `<first>…</first><second>…</second>…`, each tag once, nothing but white space between blocks and
 * nothing at all around them:
 *
 *     hasTagFormat("<think>2+2</think> <answer>4</answer>", ["think", "answer"]) // true
 */
export function hasTagFormat(text: string, names: readonly string[]): boolean {
  const blocks = tagBlocks(text, names);
  if (blocks === null || blocks.length !== names.length) return false;
  let at = 0;
  for (const [index, block] of blocks.entries()) {
    const between = text.slice(at, block.start);
    if (block.name !== names[index] || (index === 0 ? between !== "" : between.trim() !== "")) return false;
    at = block.end;
  }
  return at === text.length;
}

/** Every `<name>…</name>`, each from its opening tag to the nearest closing one, as a lazy expression finds them. */
export function tagContents(text: string, name: string): string[] {
  const contents: string[] = [];
  const [opening, closing] = [`<${name}>`, `</${name}>`];
  for (let at = text.indexOf(opening); at >= 0; at = text.indexOf(opening, at)) {
    const start = at + opening.length;
    const end = text.indexOf(closing, start);
    if (end < 0) break;
    contents.push(text.slice(start, end));
    at = end + closing.length;
  }
  return contents;
}
