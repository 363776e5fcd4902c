// The accessibility snapshot of a page without a browser, in the words of Playwright's: compared with Chromium's in same-pages.browser.test.ts.

import type { FormValues } from "./dom-form.ts";
import { isTextControl, optionsOf, optionValue } from "./dom-form.ts";
import { elementsOf, type PageElement, type PageNode, textOf } from "./element.ts";
import { yamlKey, yamlValue } from "./yaml-text.ts";

export interface SnapshotContext {
  readonly body: PageElement;
  readonly values: FormValues;
  readonly focus: PageElement;
  /** Refs of elements, which stay theirs as long as the page does. */
  readonly refs: Map<PageElement, string>;
  /** Before every ref: which document of the episode it is. Nothing for the first. */
  readonly prefix: string;
}

interface AriaNode {
  readonly role: string;
  readonly name: string;
  readonly marks: readonly string[];
  readonly ref: string | undefined;
  readonly url?: string;
  children: (AriaNode | string)[];
}

const roles: Readonly<Record<string, string>> = {
  header: "banner",
  nav: "navigation",
  main: "main",
  p: "paragraph",
  ul: "list",
  li: "listitem",
  a: "link",
  table: "table",
  thead: "rowgroup",
  tbody: "rowgroup",
  tr: "row",
  th: "columnheader",
  td: "cell",
  select: "combobox",
  textarea: "textbox",
  button: "button",
  option: "option",
  h1: "heading",
  h2: "heading",
};
const namedByContent = new Set(["link", "columnheader", "cell", "button", "heading", "option"]);

export function ariaSnapshot(context: SnapshotContext): string {
  const labels = new Map<string, string>();
  for (const { tag, attributes, children } of elementsOf(context.body)) {
    if (tag === "label" && attributes.for !== undefined)
      labels.set(attributes.for, oneLine(children.map(textOf).join("")));
  }
  const root = visit(context.body, context, labels);
  const lines: string[] = [];
  for (const node of root === undefined ? [] : simplified(root)) write(node, "", lines);
  return lines.join("\n");
}

function roleOf({ tag, attributes }: PageElement): string {
  if (tag === "input") return attributes.type === "checkbox" ? "checkbox" : "textbox";
  return roles[tag] ?? "generic";
}

function visit(
  element: PageElement,
  context: SnapshotContext,
  labels: ReadonlyMap<string, string>,
): AriaNode | undefined {
  if (element.tag === "input" && element.attributes.type === "hidden") return undefined;
  const role = roleOf(element);
  const name = nameOf(element, role, labels);
  const ref = role === "option" ? undefined : refOf(element, context);
  const children: AriaNode["children"] = [];
  if (isTextControl(element)) children.push(context.values.textOf(element));
  else if (element.tag === "select") {
    for (const option of optionsOf(element)) children.push(optionNode(option, element, context));
  } else {
    for (const child of element.children) addChild(children, child, context, labels);
  }
  const kept = joined(children);
  const { href } = element.attributes;
  return {
    role,
    name,
    marks: marksOf(element, role, context),
    ref,
    ...(href === undefined ? {} : { url: href }),
    children: kept.length === 1 && kept[0] === name ? [] : kept,
  };
}

function addChild(
  children: AriaNode["children"],
  child: PageNode,
  context: SnapshotContext,
  labels: ReadonlyMap<string, string>,
): void {
  // an element in a line of text that holds nothing but text is part of that text
  const isText =
    typeof child === "string" || (child.tag === "label" && child.children.every((inner) => typeof inner === "string"));
  if (isText) {
    children.push(textOf(child));
    return;
  }
  const node = visit(child, context, labels);
  if (node !== undefined) children.push(node);
}

function joined(children: AriaNode["children"]): AriaNode["children"] {
  const kept: AriaNode["children"] = [];
  let text = "";
  const flush = () => {
    const line = oneLine(text);
    if (line !== "") kept.push(line);
    text = "";
  };
  for (const child of children) {
    if (typeof child === "string") text += child;
    else {
      flush();
      kept.push(child);
    }
  }
  flush();
  return kept;
}

const oneLine = (text: string) =>
  text
    .replace(/[\u200b\u00ad]/g, "")
    .replace(/[\r\n\s\t]+/g, " ")
    .trim();

function optionNode(option: PageElement, select: PageElement, { values }: SnapshotContext): AriaNode {
  const isChosen = values.textOf(select) === optionValue(option);
  return {
    role: "option",
    name: oneLine(textOf(option)),
    marks: isChosen ? ["selected"] : [],
    ref: undefined,
    children: [],
  };
}

function nameOf(element: PageElement, role: string, labels: ReadonlyMap<string, string>): string {
  if (role === "textbox" || role === "combobox" || role === "checkbox")
    return labels.get(element.attributes.id ?? "") ?? "";
  // a cell that holds elements is told by them
  if (role === "cell" && element.children.some((child) => typeof child !== "string")) return "";
  return namedByContent.has(role) ? oneLine(textOf(element)) : "";
}

function marksOf(element: PageElement, role: string, { values, focus }: SnapshotContext): string[] {
  const marks: string[] = [];
  if (role === "checkbox" && values.isChecked(element)) marks.push("checked");
  if (focus === element) marks.push("active");
  if (role === "heading") marks.push(`level=${element.tag.slice(1)}`);
  return marks;
}

function refOf(element: PageElement, { refs, prefix }: SnapshotContext): string {
  const known = refs.get(element) ?? `${prefix}e${refs.size + 1}`;
  refs.set(element, known);
  return known;
}

/** Boxes around one element that say nothing of their own are left out. */
function simplified(node: AriaNode): (AriaNode | string)[] {
  node.children = node.children.flatMap((child) => (typeof child === "string" ? [child] : simplified(child)));
  const isEmptyBox =
    node.role === "generic" &&
    node.children.length <= 1 &&
    node.children.every((child) => typeof child !== "string" && child.ref !== undefined);
  return isEmptyBox ? node.children : [node];
}

function write(node: AriaNode | string, indent: string, lines: string[]): void {
  if (typeof node === "string") {
    lines.push(`${indent}- text: ${yamlValue(node)}`);
    return;
  }
  const { role, name, marks, ref, url, children } = node;
  const words = [role, ...(name === "" ? [] : [JSON.stringify(name)]), ...marks.map((mark) => `[${mark}]`)];
  if (ref !== undefined) words.push(`[ref=${ref}]`);
  if (role === "link") words.push("[cursor=pointer]");
  const key = `${indent}- ${yamlKey(words.join(" "))}`;
  const [only] = children;
  if (children.length === 0 && url === undefined) lines.push(key);
  else if (children.length === 1 && typeof only === "string" && url === undefined)
    lines.push(`${key}: ${yamlValue(only)}`);
  else {
    lines.push(`${key}:`);
    if (url !== undefined) lines.push(`${indent}  - /url: ${yamlValue(url)}`);
    for (const child of children) write(child, `${indent}  `, lines);
  }
}
