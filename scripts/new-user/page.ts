import { type Recording, seconds } from "./user.ts";

/** The transcript as a page, and back: parts that are not recorded anew stay as they were. */
export interface Page {
  /** What stands above the table. */
  readonly head: string;
  readonly recordings: readonly Recording[];
}

export function readPage(markdown: string): Page {
  const [top, ...sections] = sectionsOf(markdown);
  const [head, table = ""] = top.split(/^(?=\| \| \|$)/m);
  const times = new Map(
    [...table.matchAll(/^\| (.+) \| (.+) \|$/gm)].map(([, title, time]) => [title, milliseconds(time)]),
  );
  const recordings = sections.map((section) => {
    const end = section.indexOf("\n");
    const title = section.slice("## ".length, end);
    return { title, ms: times.get(title) ?? 0, text: section.slice(end).trim() };
  });
  return { head: head.trim(), recordings };
}

export function writePage({ head, recordings }: Page): string {
  const rows = recordings.map(({ title, ms }) => `| ${title} | ${seconds(ms)} |`);
  const total = recordings.reduce((sum, { ms }) => sum + ms, 0);
  const table = ["| | |", "|---|--:|", ...rows, `| together | ${seconds(total)} |`].join("\n");
  const sections = recordings.map(({ title, text }) => `## ${title}\n\n${text}`);
  return `${[head, table, ...sections].join("\n\n")}\n`;
}

/** In the order of `titles`: what is new, else what was there. */
export function merge(old: readonly Recording[], made: readonly Recording[], titles: readonly string[]): Recording[] {
  const all = new Map([...old, ...made].map((recording) => [recording.title, recording]));
  return titles.flatMap((title) => all.get(title) ?? []);
}

/** Cut before every title; a line of an answer that looks like one is none. */
function sectionsOf(markdown: string): string[] {
  const sections = [""];
  let isInBlock = false;
  for (const line of markdown.split(/(?<=\n)/)) {
    if (line.startsWith("```")) isInBlock = !isInBlock;
    if (!isInBlock && line.startsWith("## ")) sections.push("");
    sections.push(sections.pop() + line);
  }
  return sections;
}

function milliseconds(time: string): number {
  const [, minutes = "0", rest = "0"] = /^(?:(\d+) min )?([\d.]+) s$/.exec(time) ?? [];
  return (Number(minutes) * 60 + Number(rest)) * 1000;
}
