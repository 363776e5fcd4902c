import { elementsOf, type PageElement, textOf } from "./element.ts";

/** What was written into a page's controls since it was loaded; a control that is not here is as it was served. */
export class FormValues {
  readonly #texts: Map<PageElement, string>;
  readonly #checked: Map<PageElement, boolean>;

  /** With what was written into another page that shows the same elements, where there is one. */
  constructor(from?: FormValues) {
    this.#texts = new Map(from === undefined ? [] : from.#texts);
    this.#checked = new Map(from === undefined ? [] : from.#checked);
  }

  textOf(control: PageElement): string {
    const set = this.#texts.get(control);
    if (set !== undefined) return set;
    if (control.tag === "textarea") return textOf(control);
    if (control.tag !== "select") return control.attributes.value ?? "";
    const options = optionsOf(control);
    const chosen = options.findLast(({ attributes }) => "selected" in attributes) ?? options[0];
    return chosen === undefined ? "" : optionValue(chosen);
  }

  write(control: PageElement, text: string): void {
    // as a browser does: a field of one line has spaces for line breaks, and an area has one kind of them
    const kept = control.tag === "input" ? text.replace(/\r\n?|\n/g, " ") : text.replace(/\r\n?/g, "\n");
    this.#texts.set(control, kept);
  }

  isChecked(box: PageElement): boolean {
    return this.#checked.get(box) ?? "checked" in box.attributes;
  }

  toggle(box: PageElement): void {
    this.#checked.set(box, !this.isChecked(box));
  }

  /** What a form sends. */
  fieldsOf(form: PageElement): URLSearchParams {
    const fields = new URLSearchParams();
    for (const control of elementsOf(form)) {
      const { name, type } = control.attributes;
      if (name === undefined || !["input", "select", "textarea"].includes(control.tag)) continue;
      if (type === "checkbox") {
        if (this.isChecked(control)) fields.append(name, control.attributes.value ?? "on");
      } else {
        fields.append(name, this.textOf(control).replace(/\n/g, "\r\n"));
      }
    }
    return fields;
  }
}

export function optionsOf(select: PageElement): PageElement[] {
  return [...elementsOf(select)].filter(({ tag }) => tag === "option");
}

export function optionValue(option: PageElement): string {
  return option.attributes.value ?? textOf(option);
}

export function isTextControl({ tag, attributes }: PageElement): boolean {
  return tag === "textarea" || (tag === "input" && ["text", "password"].includes(attributes.type ?? "text"));
}
