import { type PageView, viewText } from "./page-driver.ts";
import { readSnapshot } from "./snapshot-view.ts";

/**
 * How a page is told. `full`: as the server of `@playwright/mcp` does. `changes`: the same, but a page that is still there is told by the
 * lines that are new. `compact`: a line for each element that can be used and each text, with short refs, for small models. `brief`: of those
 * lines the ones that the view before did not have.
 */
export type ViewStyle = "full" | "changes" | "compact" | "brief";

export interface ShownView {
  readonly style: ViewStyle;
  /** Tokens of a view at most, at four characters for each. */
  readonly viewTokens: number;
  /** Whether `compact` and `brief` lines begin with refs; by default they do. */
  readonly refs?: boolean;
}

const charsPerToken = 4;
const usable = new Set(["link", "button", "textbox", "combobox", "checkbox", "radio"]);
const spoken = new Set(["text", "paragraph", "heading", "cell", "generic", "listitem"]);

export function showView(
  view: PageView,
  last: PageView | undefined,
  { style, viewTokens, refs = true }: ShownView,
): string {
  const room = viewTokens * charsPerToken;
  if (style === "compact") return cutLines([pathOf(view.url), ...compactLines(view.snapshot, refs)], room).join("\n");
  if (style === "brief") {
    const told = new Set(last === undefined ? [] : cutLines(briefLines(last.snapshot, refs), room));
    const fresh = briefLines(view.snapshot, refs).filter((line) => !told.has(line));
    return cutLines([pathOf(view.url), ...fresh], room).join("\n");
  }
  if (style === "changes" && last !== undefined && prefixOf(last.snapshot) === prefixOf(view.snapshot)) {
    const known = new Set(last.snapshot.split("\n"));
    const fresh = view.snapshot.split("\n").filter((line) => !known.has(line));
    const lines = fresh.length === 0 ? ["Nothing changed."] : fresh.map((line) => line.trim());
    return ["### Changes", ...cutLines(lines, room)].join("\n");
  }
  return viewText({ ...view, snapshot: cutSnapshot(view.snapshot, room) });
}

/** Whether refs are told without the document's prefix. */
export function hasShortRefs(style: ViewStyle): boolean {
  return style === "compact" || style === "brief";
}

/** What is before the refs of a page: each document of an episode has its own. */
export function prefixOf(snapshot: string): string {
  return /\[ref=(f\d+)?e\d+\]/.exec(snapshot)?.[1] ?? "";
}

function pathOf(url: string): string {
  const read = URL.parse(url);
  return read === null || read.host === "" ? url : `${read.host}${read.pathname}${read.search}`;
}

/** A label is told once, by its field. */
function briefLines(snapshot: string, refs: boolean): string[] {
  const named = new Set(readSnapshot(snapshot).flatMap(({ role, name }) => (usable.has(role) ? [name] : [])));
  return compactLines(snapshot, refs).filter((line) => !named.has(line));
}

/** Refs are without the document's prefix. */
export function compactLines(snapshot: string, refs: boolean): string[] {
  return readSnapshot(snapshot).flatMap(({ role, name, ref, value, isChecked, isActive }) => {
    const mark = `${isChecked ? "+" : ""}${isActive && usable.has(role) ? "*" : ""}`;
    const written = value === "" ? "" : `=${value}`;
    if (usable.has(role) && ref !== undefined) {
      const start = refs ? `${ref.replace(/^f\d+/, "")} ` : "";
      return [`${start}${role} ${name}${written}${mark}`];
    }
    const text = name || value;
    return spoken.has(role) && text !== "" ? [text] : [];
  });
}

/** Fits a snapshot into so many characters: first the top of the page goes, then the lines furthest from the element in focus. */
export function cutSnapshot(snapshot: string, room: number): string {
  if (snapshot.length <= room) return snapshot;
  const lines = snapshot.split("\n");
  return cutLines(withoutBanner(lines), room, lines.length).join("\n");
}

function withoutBanner(lines: readonly string[]): string[] {
  const start = lines.findIndex((line) => /^\s*- banner\b/.test(line));
  if (start < 0) return [...lines];
  const indent = indentOf(lines[start]);
  let end = start + 1;
  while (end < lines.length && indentOf(lines[end]) > indent) end++;
  return [...lines.slice(0, start), ...lines.slice(end)];
}

const indentOf = (line: string) => line.length - line.trimStart().length;

/** The lines around the one in focus, or the first ones, and how many are left out. */
function cutLines(lines: readonly string[], room: number, all = lines.length): string[] {
  const total = lines.reduce((sum, line) => sum + line.length + 1, 0);
  if (total <= room && all === lines.length) return [...lines];
  // the body is in focus where nothing else is: then the beginning counts
  const focus = Math.max(
    0,
    lines.findIndex((line) => line.includes("[active]") || line.endsWith("*")),
  );
  let [start, end, size] = [focus, focus + 1, lines[focus].slice(0, room).length + 1];
  const fits = (line: string | undefined) => line !== undefined && size + line.length + 40 <= room;
  while (fits(lines[end]) || (start > 0 && fits(lines[start - 1]))) {
    if (fits(lines[end])) size += lines[end++].length + 1;
    if (start > 0 && fits(lines[start - 1])) size += lines[--start].length + 1;
  }
  const left = all - (end - start);
  return [...lines.slice(start, end).map((line) => line.slice(0, room)), `... ${left} more lines`];
}
