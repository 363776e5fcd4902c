import { Window } from "happy-dom";
import { afterEach, expect } from "vitest";
import { FakeEventSource } from "./fake-event-source.ts";

// A browser's globals for tests that render pages; runs before each test file. What happy-dom lacks is faked here: a canvas
// that draws nothing, layout observers that tests trigger, and events from the server.

const window = new Window({ url: "http://dashboard.test/", width: 1280, height: 900 });
const names = [
  "document",
  "location",
  "history",
  "localStorage",
  "getComputedStyle",
  "Element",
  "HTMLElement",
  "HTMLInputElement",
  "HTMLTextAreaElement",
  "HTMLSelectElement",
  "HTMLCanvasElement",
  "Node",
  "Event",
  "KeyboardEvent",
  "MouseEvent",
  "CustomEvent",
  "devicePixelRatio",
] as const;

Object.assign(globalThis, { window, IS_REACT_ACT_ENVIRONMENT: true });
for (const name of names) {
  Object.defineProperty(globalThis, name, { get: () => window[name], configurable: true });
}
Object.assign(window, { scrollTo: () => {} });
Object.assign(globalThis, { matchMedia: window.matchMedia.bind(window) });

/** Every method of a 2D context does nothing; text is 6 pixels wide per character. */
const context = new Proxy(
  {},
  {
    get: (_, name) => (name === "measureText" ? (text: string) => ({ width: 6 * text.length }) : () => {}),
    set: () => true,
  },
);
Object.assign(window.HTMLCanvasElement.prototype, { getContext: () => context });
Object.assign(window.HTMLElement.prototype, { scrollIntoView: () => {} });

class FakePath {
  moveTo(): void {}
  lineTo(): void {}
  rect(): void {}
  arc(): void {}
  addPath(): void {}
  closePath(): void {}
}

class FakeResizeObserver {
  observe(): void {}
  disconnect(): void {}
}

/** Everything is in view. */
class FakeIntersectionObserver {
  readonly #report: (entries: { isIntersecting: boolean }[]) => void;

  constructor(report: (entries: { isIntersecting: boolean }[]) => void) {
    this.#report = report;
  }

  observe(): void {
    this.#report([{ isIntersecting: true }]);
  }

  disconnect(): void {}
}

Object.assign(window, { Path2D: FakePath, ResizeObserver: FakeResizeObserver });
Object.assign(globalThis, {
  Path2D: FakePath,
  ResizeObserver: FakeResizeObserver,
  IntersectionObserver: FakeIntersectionObserver,
  EventSource: FakeEventSource,
});

// React reports duplicate keys, failed updates and the like as errors of the console
const errors: string[] = [];
console.error = (...parts: unknown[]) => void errors.push(parts.map(String).join(" "));

afterEach(() => {
  expect(errors.splice(0)).toEqual([]);
  window.localStorage.clear();
  window.history.replaceState(null, "", "/");
});
