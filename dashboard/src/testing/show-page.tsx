import { act, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { App } from "../app.tsx";

let root: Root | undefined;

/** Opens an address in the app and waits until its first requests are answered. */
export function showPage(address: string): Promise<HTMLElement> {
  history.replaceState(null, "", address);
  return render(<App />);
}

export async function render(node: ReactNode): Promise<HTMLElement> {
  await closePage();
  const place = document.createElement("div");
  document.body.replaceChildren(place);
  root = createRoot(place);
  await settle(() => root!.render(node));
  return place;
}

export async function closePage(): Promise<void> {
  await act(async () => root?.unmount());
  root = undefined;
}

/** Does something and waits for all that follows from it. Every reply of the fake server is there after a few microtasks. */
export async function settle(action: () => void = () => {}): Promise<void> {
  await act(async () => {
    action();
    for (let i = 0; i < 50; i++) await Promise.resolve();
  });
  // charts ask when they are seen, which is after the first render
  await act(async () => {
    await new Promise((resolve) => setImmediate(resolve));
  });
}

export function find(selector: string): HTMLElement {
  const found = document.querySelector<HTMLElement>(selector);
  if (found === null) throw new Error(`nothing matches ${selector} in: ${document.body.innerHTML.slice(0, 2000)}`);
  return found;
}

export function texts(selector: string): string[] {
  return [...document.querySelectorAll(selector)].map(({ textContent }) => (textContent ?? "").trim());
}

export function button(name: string): HTMLButtonElement {
  const found = [...document.querySelectorAll("button")].find(({ textContent }) => textContent?.trim() === name);
  if (found === undefined) throw new Error(`no button ${name} among ${texts("button").join(", ")}`);
  return found;
}

export function click(element: HTMLElement): Promise<void> {
  return settle(() => element.click());
}

/** Types into a field, as React hears it: through the prototype's setter and an event. */
export function fill(element: HTMLElement, value: string): Promise<void> {
  return settle(() => {
    Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), "value")?.set?.call(element, value);
    element.dispatchEvent(new Event(element.tagName === "SELECT" ? "change" : "input", { bubbles: true }));
  });
}

export function press(key: string, target: { dispatchEvent(event: Event): boolean } = window): Promise<void> {
  return settle(() => void target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })));
}

/** Path and query of the address. */
export function address(): string {
  return `${location.pathname}${location.search}`;
}
