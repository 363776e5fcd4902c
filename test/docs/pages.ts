import { globSync, readFileSync } from "node:fs";

/** A fenced block; `line` is that of its first line of content, from 1. */
export interface Block {
  readonly language: string;
  /** What follows the language. */
  readonly info: string;
  readonly text: string;
  readonly line: number;
}

export interface Page {
  readonly path: string;
  readonly text: string;
  /** The text without its fenced blocks, which are empty lines here. */
  readonly prose: string;
  readonly blocks: readonly Block[];
}

export function readPage(path: string): Page {
  const text = readFileSync(path, "utf8");
  const blocks: Block[] = [];
  const prose: string[] = [];
  let open: { fence: string; language: string; info: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^(`{3,})(\S*) ?(.*)$/.exec(line);
    if (open !== undefined && line.trimEnd() === open.fence) {
      const { lines, fence: _fence, ...facts } = open;
      blocks.push({ ...facts, text: lines.join("\n") });
      open = undefined;
    } else if (open !== undefined) open.lines.push(line);
    else if (fence !== null) {
      open = { fence: fence[1], language: fence[2], info: fence[3], line: index + 2, lines: [] };
    }
    prose.push(open === undefined && fence === null ? line : "");
  }
  return { path, text, prose: prose.join("\n"), blocks };
}

/** The README and everything under docs/. */
export function readPages(): readonly Page[] {
  return ["README.md", ...globSync("docs/**/*.md")].map((path) => readPage(path.replaceAll("\\", "/")));
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ prose }: Page): ReadonlySet<string> {
  const counts = new Map<string, number>();
  const anchors = Array.from(prose.matchAll(/^#+ (.+)$/gm), ([, heading]) => {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-");
    const count = counts.get(slug) ?? 0;
    counts.set(slug, count + 1);
    return count === 0 ? slug : `${slug}-${count}`;
  });
  return new Set(anchors);
}

/** Targets of links and pictures that do not leave the repository. */
export function relativeLinks({ prose }: Page): readonly string[] {
  const targets = Array.from(prose.matchAll(/\]\(([^()\s]+)\)/g), ([, target]) => target);
  return targets.filter((target) => !/^[a-z]+:/.test(target));
}

/** Lines of shells and words in backticks that call `ludus`, from its name on. */
export function commandLines({ prose, blocks }: Page): readonly string[] {
  const shells = blocks.filter(({ language }) => language === "sh").flatMap(({ text }) => text.split("\n"));
  const words = Array.from(prose.matchAll(/`([^`\n]+)`/g), ([, code]) => code);
  return [...shells, ...words].flatMap((line) => /^(?:\$ )?(?:npx )?(ludus [a-z].*)$/.exec(line)?.[1] ?? []);
}

/** First cells of the rows of all tables under a heading, without their backticks. */
export function firstCells({ prose }: Page, heading: string): readonly string[] {
  const section = prose.split(/^(?=#+ )/m).find((each) => each.startsWith(`${heading}\n`)) ?? "";
  const rows = section.split("\n").filter((line) => line.startsWith("| `"));
  return rows.flatMap((row) => Array.from(row.split("|")[1].matchAll(/`([^`]+)`/g), ([, cell]) => cell));
}
