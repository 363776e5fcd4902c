import { expect, test } from "vitest";
import { DomPage } from "./dom-page.ts";
import { SiteBackend } from "./site-backend.ts";
import { cutSnapshot, showView } from "./snapshot-text.ts";
import { readSnapshot } from "./snapshot-view.ts";

function login() {
  const page = new DomPage(new SiteBackend(3));
  const view = page.act({ tool: "browser_navigate", url: "http://shop.test/login" });
  const refOf = (name: string) =>
    readSnapshot(view.snapshot).find((element) => element.role === "textbox" && element.name === name)?.ref ?? "";
  return { page, view, refOf };
}

test("a page that is still there is told by what changed", () => {
  const { page, view, refOf } = login();
  const after = page.act({ tool: "browser_type", target: refOf("User"), text: "ada" });
  const shown = showView(after, view, { style: "changes", viewTokens: 500 });
  expect(shown).toContain(`textbox "User" [active] [ref=${refOf("User")}]: ada`);
  expect(shown).not.toContain("Password");
  expect(showView(after, after, { style: "changes", viewTokens: 500 })).toBe("### Changes\nNothing changed.");
  const next = page.act({ tool: "browser_navigate", url: "http://shop.test/cart" });
  expect(showView(next, after, { style: "changes", viewTokens: 500 })).toContain("Page URL: http://shop.test/cart");
});

test("the compact form has a line for each thing to use, with refs that do not depend on the way there", () => {
  const { page, view } = login();
  const shown = showView(view, undefined, { style: "compact", viewTokens: 500 });
  page.act({ tool: "browser_navigate", url: "http://shop.test/cart" });
  const again = page.act({ tool: "browser_navigate", url: "http://shop.test/login" });
  expect(showView(again, undefined, { style: "compact", viewTokens: 500 })).toBe(shown);
  expect(shown).toContain("textbox Password");
  expect(shown.length).toBeLessThan(view.snapshot.length / 2);
});

test("a long page is cut to the limit, and what is in focus stays", () => {
  const { page, refOf } = login();
  const { snapshot } = page.act({ tool: "browser_type", target: refOf("Password"), text: "secret" });
  for (const room of [200, 300, 600]) {
    const cut = cutSnapshot(snapshot, room);
    expect(cut.length).toBeLessThanOrEqual(room);
    expect(cut).toContain("secret");
    expect(cut).toMatch(/more lines$/);
  }
  expect(cutSnapshot(snapshot, 10_000)).toBe(snapshot);
});

test("snapshots with hard texts are read back", () => {
  const { page, refOf } = login();
  for (const text of ['a: "b" \\ c', "- x", "12", "{y}", "it's # 5"]) {
    const { snapshot } = page.act({ tool: "browser_type", target: refOf("User"), text });
    expect(readSnapshot(snapshot).find(({ role, name }) => role === "textbox" && name === "User")?.value).toBe(text);
  }
});
