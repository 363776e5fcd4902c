/** What a page is made of: an element as HTML has it, or text. Attributes without a value are the empty string. */
export interface PageElement {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly PageNode[];
}
export type PageNode = PageElement | string;

export interface PageDocument {
  readonly title: string;
  readonly body: PageElement;
}

export function h(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly PageNode[]
): PageElement {
  return { tag, attributes, children };
}

const voidTags = new Set(["input", "br", "hr", "img"]);

/** The document as it is served to a browser. */
export function toHtml({ title, body }: PageDocument, style: string): string {
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title><link rel="icon" href="data:,"><style>${style}</style></head>${nodeHtml(body)}</html>`;
}

function nodeHtml(node: PageNode): string {
  if (typeof node === "string") return escapeHtml(node);
  const { tag, attributes, children } = node;
  const written = Object.entries(attributes).map(([name, value]) => ` ${name}="${escapeHtml(value)}"`);
  const opening = `<${tag}${written.join("")}>`;
  return voidTags.has(tag) ? opening : `${opening}${children.map(nodeHtml).join("")}</${tag}>`;
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => entities[character]);
}

/** All texts below, joined as they stand. */
export function textOf(node: PageNode): string {
  return typeof node === "string" ? node : node.children.map(textOf).join("");
}

export function* elementsOf(node: PageNode): Generator<PageElement> {
  if (typeof node === "string") return;
  yield node;
  for (const child of node.children) yield* elementsOf(child);
}
