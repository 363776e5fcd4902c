import type { BrowserTask } from "./browser-tasks.ts";
import { isMet } from "./browser-tasks.ts";
import type { PageAction, PageView } from "./page-driver.ts";
import type { SiteBackend } from "./site-backend.ts";
import { firstPageAbove, type Site, type SiteData } from "./sites/site.ts";
import { readSnapshot, type SnapshotElement } from "./snapshot-view.ts";

export interface BrowserSituation {
  readonly backend: SiteBackend;
  readonly view: PageView;
}

/** What someone who knows the site does next: an action, or what to answer in the end. */
export function nextAction(task: BrowserTask, { backend, view }: BrowserSituation): PageAction | { answer: string } {
  const end = { url: view.url, answer: "", data: backend.data[task.site] };
  const origin = new URL(task.start).origin;
  const elements = readSnapshot(view.snapshot);
  const onSite = {
    origin,
    elements,
    here: view.url.slice(origin.length),
    site: backend.sites[task.site],
    data: end.data,
  };
  const changes = task.rules.filter((rule) => rule.on === "state");
  if (changes.length > 0 && changes.every((rule) => isMet(rule, end))) return { answer: task.answer };
  for (const { at, write, press, until } of task.milestones) {
    if (until.every((rule) => isMet(rule, end))) continue;
    if (view.url !== origin + at) return goTo(at, onSite);
    const field = Object.entries(write).find(([name, text]) => writtenIn(elements, name) !== text);
    if (field !== undefined) return fill(elements, field[0], field[1]) ?? { answer: "" };
    const target = elements.find(({ role, name }) => role === "button" && name === press)?.ref;
    return target === undefined ? { answer: "" } : { tool: "browser_click", target };
  }
  const place = task.rules.find((rule) => rule.on === "url");
  if (place !== undefined && view.url !== place.is) return goTo(place.is.slice(origin.length), onSite);
  if (task.readAt !== undefined && onSite.here !== task.readAt) return goTo(task.readAt, onSite);
  return { answer: task.answer };
}

interface OnSite {
  readonly origin: string;
  readonly elements: readonly SnapshotElement[];
  /** Path of the page. */
  readonly here: string;
  readonly site: Site;
  readonly data: SiteData;
}

/** By a link, or by a link to the page that has one; by the address where there is no link. */
function goTo(path: string, onSite: OnSite): PageAction {
  const target = onSite.elements.find(({ role, url }) => role === "link" && url === path)?.ref;
  if (target !== undefined) return { tool: "browser_click", target };
  const above = (onSite.site.above ?? firstPageAbove)(onSite.data, path);
  if (above === undefined || above === onSite.here) return { tool: "browser_navigate", url: onSite.origin + path };
  return goTo(above, onSite);
}

function writtenIn(elements: readonly SnapshotElement[], name: string): string | undefined {
  return elements.find((element) => isField(element) && element.name === name)?.value;
}

function isField({ role }: SnapshotElement): boolean {
  return role === "textbox" || role === "combobox";
}

function fill(elements: readonly SnapshotElement[], name: string, text: string): PageAction | undefined {
  const element = elements.find((known) => isField(known) && known.name === name);
  if (element?.ref === undefined) return undefined;
  const target = element.ref;
  return element.role === "combobox"
    ? { tool: "browser_select_option", target, values: [text] }
    : { tool: "browser_type", target, text };
}
