// Pages of the sites in Chromium, read without Playwright's script in the page. That script is put into every new document and runs cold
// there, which costs more than loading the page. A document that has anything the sites do not have is left to Playwright.

import { z } from "zod";
import { ariaSnapshot } from "./aria-snapshot.ts";
import { FormValues, isTextControl, optionsOf, optionValue } from "./dom-form.ts";
import { elementsOf, type PageElement, type PageNode, textOf } from "./element.ts";
import { siteStyle } from "./sites/site.ts";

const knownTags =
  "body header nav main h1 h2 p ul li a table thead tbody tr th td form label input select option textarea button";
const knownAttributes = "href id type name value for method action autocomplete selected";

/** Defines `ludusPage` in a document that is like those of the sites, and says what the document is. */
export const readScript = `(() => {
  const said = { url: location.href, title: document.title };
  if (globalThis.ludusPage === undefined) {
    const style = document.styleSheets.length === 1 ? document.querySelector("style") : null;
    if (document.scripts.length > 0 || style === null || style.textContent !== ${JSON.stringify(siteStyle)}) return JSON.stringify(said);
    const tags = new Set(${JSON.stringify(knownTags)}.split(" ")), names = new Set(${JSON.stringify(knownAttributes)}.split(" "));
    const elements = [];
    const visit = (node) => {
      if (node.nodeType === 3) return node.data;
      const tag = node.localName;
      if (node.nodeType !== 1 || !tags.has(tag)) return undefined;
      const attributes = {};
      for (const { name, value } of node.attributes) {
        if (!names.has(name)) return undefined;
        attributes[name] = value;
      }
      elements.push(node);
      const children = [];
      for (const child of node.childNodes) {
        const made = visit(child);
        if (made === undefined) return undefined;
        children.push(made);
      }
      return { tag, attributes, children };
    };
    const body = visit(document.body);
    if (body === undefined) return JSON.stringify(said);
    const controls = elements.flatMap((element, at) => "value" in element && element.localName !== "li" ? [at] : []);
    globalThis.ludusPage = { elements, controls };
    said.body = body;
  }
  const { elements, controls } = globalThis.ludusPage;
  said.focus = document.hasFocus() ? elements.indexOf(document.activeElement) : -1;
  said.values = controls.map((at) => [at, elements[at].value, elements[at].checked === true]);
  return JSON.stringify(said);
})()`;

/** The middle of an element, and whether clicking there leads to another document. */
export const pointScript = (at: number): string => `(() => {
  const element = globalThis.ludusPage?.elements[${at}];
  if (element === undefined) return undefined;
  element.scrollIntoViewIfNeeded(true);
  if (element.getClientRects().length !== 1) return undefined;
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left + width / 2, top + height / 2];
  const hit = document.elementFromPoint(x, y);
  if (hit === null || !element.contains(hit)) return undefined;
  const leads = hit.closest("a[href]") !== null || (hit.closest("button")?.form ?? null) !== null;
  return [x, y, leads];
})()`;

/** Where an element is, scrolled into view. */
export const boxScript = (at: number): string => `(() => {
  const element = globalThis.ludusPage?.elements[${at}];
  if (element === undefined) return null;
  element.scrollIntoViewIfNeeded(true);
  const { x, y, width, height } = element.getBoundingClientRect();
  return { x, y, width, height };
})()`;

/** Whether what is typed next replaces what is written in an element. */
export const selectTextScript = (at: number): string => `(() => {
  const element = globalThis.ludusPage?.elements[${at}];
  if (element === undefined) return false;
  element.select();
  element.focus();
  return document.activeElement === element;
})()`;

/** Whether there was such an option to choose. */
export const chooseScript = (at: number, value: string): string => `(() => {
  const element = globalThis.ludusPage?.elements[${at}];
  const option = [...(element?.options ?? [])].find((known) => known.value === ${JSON.stringify(value)} || known.label === ${JSON.stringify(value)});
  if (option === undefined) return false;
  element.value = undefined;
  option.selected = true;
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  element.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
})()`;

const Served: z.ZodType<PageNode> = z.lazy(() =>
  z.union([
    z.string(),
    z.object({ tag: z.string(), attributes: z.record(z.string(), z.string()), children: z.array(Served) }),
  ]),
);
const Read = z.object({
  url: z.string(),
  title: z.string(),
  body: Served.optional(),
  focus: z.number().optional(),
  values: z.array(z.tuple([z.number(), z.string(), z.boolean()])).optional(),
});

export interface ReadDocument {
  readonly url: string;
  readonly title: string;
  /** Elements, in a document that was not read before. */
  readonly body?: PageElement;
  /** Of an element by its number; -1 where nothing has the focus. Absent where the document is none of the sites'. */
  readonly focus?: number;
  /** Numbers of controls with what is written in them and whether they are checked. */
  readonly values?: readonly (readonly [number, string, boolean])[];
}

/** Undefined for what the script does not say. */
export function parseRead(text: unknown): ReadDocument | undefined {
  if (typeof text !== "string") return undefined;
  const read = Read.safeParse(parsedJson(text));
  if (!read.success || typeof read.data.body === "string") return undefined;
  return read.data as ReadDocument;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A document whose elements stay as they are: it has no scripts. */
export class PlainDocument {
  readonly #body: PageElement;
  readonly #elements: readonly PageElement[];
  readonly #refs = new Map<PageElement, string>();
  readonly #prefix: string;

  constructor(body: PageElement, prefix: string) {
    this.#body = body;
    this.#elements = [...elementsOf(body)];
    this.#prefix = prefix;
  }

  snapshot({ focus = -1, values = [] }: ReadDocument): string {
    const written = new FormValues();
    for (const [at, value, isChecked] of values) {
      const element = this.#elements[at];
      if (element === undefined) continue;
      if (isTextControl(element) || element.tag === "select") written.write(element, value);
      if (written.isChecked(element) !== isChecked) written.toggle(element);
    }
    return ariaSnapshot({
      ...{ body: this.#body, values: written, refs: this.#refs, prefix: this.#prefix },
      // an element that is nowhere, where nothing has the focus
      focus: this.#elements[focus] ?? { tag: "body", attributes: {}, children: [] },
    });
  }

  /** Number and element of a ref that a snapshot told. */
  find(ref: string): { readonly at: number; readonly element: PageElement } | undefined {
    for (const [element, known] of this.#refs) {
      if (known === ref) return { at: this.#elements.indexOf(element), element };
    }
    return undefined;
  }
}

export function hasOption(select: PageElement, value: string): boolean {
  return optionsOf(select).some((option) => optionValue(option) === value || textOf(option) === value);
}
