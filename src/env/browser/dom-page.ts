import { ToolError } from "../../tool/tool.ts";
import { ariaSnapshot } from "./aria-snapshot.ts";
import { FormValues, isTextControl, optionsOf, optionValue } from "./dom-form.ts";
import { elementsOf, h, type PageDocument, type PageElement, textOf } from "./element.ts";
import {
  type FormField,
  missingRef,
  noCheckbox,
  type PageAction,
  type PageDriver,
  type PageView,
  waitedInVain,
} from "./page-driver.ts";
import type { SiteBackend } from "./site-backend.ts";

const maxRedirects = 20;
const blank: PageDocument = { title: "", body: h("body") };

/** A page of the sites without a browser: the site's elements themselves, with what was written into them. */
export class DomPage implements PageDriver {
  readonly #backend: SiteBackend;
  #history: string[] = ["about:blank"];
  /** Addresses that were gone back from, the nearest one last. */
  #ahead: string[] = [];
  #url = "about:blank";
  #document = blank;
  #values = new FormValues();
  #refs = new Map<PageElement, string>();
  #focus: PageElement = blank.body;
  #documents = 0;

  constructor(backend: SiteBackend) {
    this.#backend = backend;
  }

  act(action: PageAction): PageView {
    this.#do(action);
    return this.#view();
  }

  close(): void {}

  copy(backend: SiteBackend): DomPage {
    const copy = new DomPage(backend);
    // documents do not change: what was written into one is kept apart
    [copy.#url, copy.#document, copy.#focus, copy.#documents] = [
      this.#url,
      this.#document,
      this.#focus,
      this.#documents,
    ];
    copy.#history = [...this.#history];
    copy.#ahead = [...this.#ahead];
    copy.#values = new FormValues(this.#values);
    copy.#refs = new Map(this.#refs);
    return copy;
  }

  #view(): PageView {
    const { title, body } = this.#document;
    const snapshot = ariaSnapshot({
      body,
      values: this.#values,
      focus: this.#focus,
      refs: this.#refs,
      prefix: this.#prefix,
    });
    return { url: this.#url, title, snapshot };
  }

  // `undefined` and not `void`, so that what one of these does can be handed to another
  #do(action: PageAction): undefined {
    switch (action.tool) {
      case "browser_navigate":
        return this.#load("GET", addressOf(action.url), new URLSearchParams());
      case "browser_navigate_back":
        return this.#back();
      case "browser_navigate_forward":
        return this.#forward();
      case "browser_fill_form":
        for (const field of action.fields) this.#fill(this.#find(field.target), field);
        return;
      case "browser_wait_for":
        return this.#waitFor(action);
      case "browser_snapshot":
        return;
      case "browser_hover":
        this.#find(action.target);
        return;
      case "browser_click":
        return this.#click(this.#find(action.target), action);
      case "browser_type":
        return this.#type(this.#find(action.target), action.text, action.submit ?? false);
      case "browser_select_option":
        return this.#select(this.#find(action.target), action.values);
      case "browser_press_key":
        return this.#press(action.key);
      default:
        action satisfies never;
    }
  }

  #find(ref: string): PageElement {
    for (const [element, known] of this.#refs) if (known === ref) return element;
    throw new ToolError(missingRef(ref));
  }

  #load(method: "GET" | "POST", url: URL, form: URLSearchParams): undefined {
    // a browser replaces the entry of a page that is asked for again
    if (method === "GET" && url.href === this.#url) this.#history.pop();
    else this.#ahead = [];
    this.#request(method, url, form);
  }

  #request(method: "GET" | "POST", url: URL, form: URLSearchParams): undefined {
    let [address, fields, how] = [url, form, method];
    for (let redirects = 0; redirects <= maxRedirects; redirects++) {
      const response = this.#backend.answer(how, address, fields);
      if (response === undefined) throw new ToolError(`### Error\nError: ${address.host} is not one of the sites.`);
      if (response.kind === "page") return this.#show(address.href, response.document);
      [address, fields, how] = [new URL(response.to, address), new URLSearchParams(), "GET"];
    }
    throw new ToolError("### Error\nError: too many redirects.");
  }

  get #prefix(): string {
    return this.#documents < 2 ? "" : `f${this.#documents - 1}`;
  }

  #show(url: string, document: PageDocument): undefined {
    this.#history.push(url);
    this.#url = url;
    this.#document = document;
    // an empty page has no refs, and is not counted
    if (url !== "about:blank") this.#documents++;
    this.#values = new FormValues();
    this.#refs = new Map();
    this.#focus = document.body;
  }

  #back(): undefined {
    if (this.#history.length < 2) return;
    this.#ahead.push(this.#history.pop()!);
    this.#goTo(this.#history.pop()!);
  }

  #forward(): undefined {
    const url = this.#ahead.pop();
    if (url !== undefined) this.#goTo(url);
  }

  #goTo(url: string): undefined {
    if (url === "about:blank") this.#show(url, { title: "", body: h("body") });
    else this.#request("GET", new URL(url), new URLSearchParams());
  }

  #fill(element: PageElement, { type, value }: FormField): undefined {
    if (type === "combobox") return this.#select(element, [value]);
    if (type === "textbox" || type === "slider") return this.#type(element, value, false);
    if (element.attributes.type !== "checkbox") throw new ToolError(noCheckbox);
    if (this.#values.isChecked(element) !== (value === "true")) this.#click(element, {});
  }

  /** Nothing comes and goes on a page without scripts. */
  #waitFor({ text, textGone }: { text?: string; textGone?: string }): undefined {
    const has = (wanted: string) => oneSpaced(textOf(this.#document.body)).includes(oneSpaced(wanted));
    if (text !== undefined && !has(text)) throw new ToolError(waitedInVain);
    if (textGone !== undefined && has(textGone)) throw new ToolError(waitedInVain);
  }

  #click(element: PageElement, { doubleClick, button }: { doubleClick?: boolean; button?: string }): undefined {
    if (doubleClick || (button ?? "left") !== "left")
      throw new ToolError("### Error\nError: this page takes single clicks of the left button.");
    const { tag, attributes } = element;
    if (tag === "a" && attributes.href !== undefined)
      return this.#load("GET", new URL(attributes.href, this.#url), new URLSearchParams());
    if (tag === "button") return this.#submit(element);
    const inner = [...elementsOf(element)].filter((below) => below !== element && isInteractive(below));
    if (tag === "li" && inner.length === 1) return this.#click(inner[0], {});
    if (inner.length > 0)
      throw new ToolError("### Error\nError: without a browser it is not known what is in the middle of this element.");
    this.#focus = ["input", "select", "textarea"].includes(tag) ? element : this.#document.body;
    if (attributes.type === "checkbox") this.#values.toggle(element);
  }

  #type(element: PageElement, text: string, submit: boolean): undefined {
    if (!isTextControl(element))
      throw new ToolError("### Error\nError: Element is not an <input>, <textarea> or [contenteditable] element");
    this.#values.write(element, text);
    this.#focus = element;
    if (submit) this.#press("Enter");
  }

  #select(element: PageElement, values: readonly string[]): undefined {
    if (element.tag !== "select") throw new ToolError("### Error\nError: Element is not a <select> element");
    const options = optionsOf(element);
    const chosen = options.filter((option) => values.includes(optionValue(option)) || values.includes(textOf(option)));
    if (chosen.length === 0) throw new ToolError("### Error\nError: did not find some options");
    this.#values.write(element, optionValue(chosen[0]));
  }

  #press(key: string): undefined {
    const focus = this.#focus;
    if (key === "Enter") {
      if (focus.tag === "textarea") this.#values.write(focus, `${this.#values.textOf(focus)}\n`);
      else if (focus.tag === "input" && isTextControl(focus)) this.#submit(focus);
      return;
    }
    if (!isTextControl(focus)) {
      if (key.length === 1 || key === "Backspace") return;
      throw new ToolError(`### Error\nError: the key ${key} does nothing on this page.`);
    }
    const text = this.#values.textOf(focus);
    if (key === "Backspace") this.#values.write(focus, [...text].slice(0, -1).join(""));
    else if ([...key].length === 1) this.#values.write(focus, text + key);
    else throw new ToolError(`### Error\nError: the key ${key} does nothing on this page.`);
  }

  #submit(inside: PageElement): undefined {
    const forms = [...elementsOf(this.#document.body)].filter(({ tag }) => tag === "form");
    const form = forms.find((candidate) => [...elementsOf(candidate)].includes(inside));
    if (form === undefined) return;
    const fields = this.#values.fieldsOf(form);
    const url = new URL(form.attributes.action ?? "", this.#url);
    if (form.attributes.method === "post") return this.#load("POST", url, fields);
    url.search = fields.toString();
    this.#load("GET", url, new URLSearchParams());
  }
}

const oneSpaced = (text: string): string => text.replace(/\s+/g, " ").trim().toLowerCase();

function isInteractive({ tag }: PageElement): boolean {
  return ["a", "button", "input", "select", "textarea"].includes(tag);
}

/** As the server reads it: without a scheme it is a host. */
export function addressOf(text: string): URL {
  const url = URL.parse(text) ?? URL.parse(`http://${text}`);
  if (url !== null && (url.protocol === "http:" || url.protocol === "https:")) return url;
  throw new ToolError(`### Error\nError: "${text.slice(0, 200)}" is no address of a page.`);
}
