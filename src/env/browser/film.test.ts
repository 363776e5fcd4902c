import { expect, test } from "vitest";
import { browserEnv } from "./browser-env.ts";
import { DomPage } from "./dom-page.ts";
import { changesBetween, frameFacts } from "./film.ts";
import { SiteBackend } from "./site-backend.ts";

const page = new DomPage(new SiteBackend(3));
const view = page.act({ tool: "browser_navigate", url: "http://shop.test/login" });
const target = /textbox "User" .*\[ref=(\w+)\]/.exec(view.snapshot)?.[1] ?? "";

test("a frame has the page, the element and its place; a page without pictures has the element", async () => {
  const action = { tool: "browser_click", target } as const;
  expect(await frameFacts(page, view, action)).toEqual({ element: "textbox User" });
  const filming = {
    act: () => view,
    close() {},
    film: async () => ({ image: "data:image/jpeg;base64,AAAA", box: [0, 0.5, 1 / 3, 0.1] as const }),
  };
  expect(await frameFacts(filming, view, action)).toEqual({
    screenshot: "data:image/jpeg;base64,AAAA",
    box: "0.0000 0.5000 0.3333 0.1000",
    element: "textbox User",
  });
});

test("a picture that cannot be taken costs nothing", async () => {
  const broken = { act: () => view, close() {}, film: () => Promise.reject(new Error("the page is gone")) };
  expect(await frameFacts(broken, view, { answer: "done" })).toEqual({});
});

test("changes are lines that are gone and lines that are new", () => {
  const typed = page.act({ tool: "browser_type", target, text: "ada" });
  expect(changesBetween(view, typed)).toBe("- textbox User\n+ textbox User=ada*");
  const next = page.act({ tool: "browser_navigate", url: "http://shop.test/cart" });
  expect(changesBetween(typed, next)).toContain("- http://shop.test/login\n+ http://shop.test/cart\n");
  expect(changesBetween(next, next)).toBe("");
});

test("a film without Chromium is refused", () => {
  expect(() => browserEnv({ film: true, actions: "names" })).toThrow("film");
  expect(() => browserEnv({ film: true, pages: "chromium" })).toThrow("film");
  expect(() => browserEnv({ film: true, pages: "chromium", actions: "do" })).not.toThrow();
});
