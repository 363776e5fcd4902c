import { expect, test } from "vitest";
import { DomPage } from "./dom-page.ts";
import { h, type PageElement } from "./element.ts";
import { PlainDocument, parseRead } from "./plain-document.ts";
import { SiteBackend } from "./site-backend.ts";

function loginBody(): PageElement {
  const answered = new SiteBackend(3).answer("GET", new URL("http://shop.test/login"), new URLSearchParams());
  if (answered?.kind !== "page") throw new Error("no page");
  return answered.document.body;
}

test("what a document holds is told as a page without a browser tells it", () => {
  const page = new DomPage(new SiteBackend(3));
  const view = page.act({ tool: "browser_navigate", url: "http://shop.test/login" });
  const document = new PlainDocument(loginBody(), "");
  expect(document.snapshot({ url: view.url, title: view.title, focus: 0, values: [] })).toBe(view.snapshot);
  const ref = /textbox "User" .*\[ref=(\w+)\]/.exec(view.snapshot)?.[1] ?? "";
  const { at, element } = document.find(ref)!;
  expect(element.attributes.name).toBe("user");
  const typed = page.act({ tool: "browser_type", target: ref, text: "- ada" });
  const read = { url: view.url, title: view.title, focus: at, values: [[at, "- ada", false] as const] };
  expect(document.snapshot(read)).toBe(typed.snapshot);
  expect(document.find("e999")).toBeUndefined();
});

test("what a page says about itself is not believed in any other form", () => {
  const said = { url: "http://shop.test/", title: "Shop" };
  for (const text of [undefined, 5, "", "{", "[]", JSON.stringify({ ...said, body: "text" })])
    expect(parseRead(text)).toBeUndefined();
  expect(parseRead(JSON.stringify({ ...said, body: { tag: "p" } }))).toBeUndefined();
  expect(parseRead(JSON.stringify({ ...said, focus: 0, values: [[0, 1, true]] }))).toBeUndefined();
  expect(parseRead(JSON.stringify({ ...said, body: h("body") }))).toEqual({ ...said, body: h("body") });
});

test("a number that is none of its elements is passed over", () => {
  const document = new PlainDocument(h("body", {}, h("p", {}, "Text")), "");
  const values = [[7, "x", true] as const];
  expect(() => document.snapshot({ url: "", title: "", focus: 99, values })).not.toThrow();
});
