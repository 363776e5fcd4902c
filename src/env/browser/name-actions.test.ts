import { expect, test } from "vitest";
import { DomPage } from "./dom-page.ts";
import { readNamed, writeNamed } from "./name-actions.ts";
import { SiteBackend } from "./site-backend.ts";

const { snapshot } = new DomPage(new SiteBackend(3)).act({
  tool: "browser_navigate",
  url: "http://shop.test/login",
});
const refOf = (line: RegExp) => line.exec(snapshot)?.[1] ?? "";

test("an element is found by its name, a button before a link", () => {
  const target = refOf(/button "Log in" .*\[ref=(\w+)\]/);
  expect(readNamed("click Log in", snapshot)).toEqual({ tool: "browser_click", target });
  const user = refOf(/textbox "User" .*\[ref=(\w+)\]/);
  expect(readNamed("type User: a: b\nc", snapshot)).toEqual({ tool: "browser_type", target: user, text: "a: b\nc" });
  expect(readNamed("search User: ada", snapshot)).toMatchObject({ target: user, submit: true });
  expect(readNamed("say it costs $5", snapshot)).toEqual({ answer: "it costs $5" });
  expect(readNamed("back", snapshot)).toEqual({ tool: "browser_navigate_back" });
});

test("what names nothing on the page is no action", () => {
  for (const text of [
    "",
    "click",
    "click Log",
    "type User",
    "type Log in: x",
    "choose User: x",
    "jump Log in",
    "click \n",
  ])
    expect([text, readNamed(text, snapshot)]).toEqual([text, undefined]);
});

test("an action that cannot be said by name is not said", () => {
  const link = refOf(/link "Log in" .*\[ref=(\w+)\]/);
  expect(writeNamed({ tool: "browser_click", target: link }, snapshot)).toBeUndefined();
  expect(writeNamed({ tool: "browser_press_key", key: "Enter" }, snapshot)).toBeUndefined();
  expect(writeNamed({ tool: "browser_click", target: "e999" }, snapshot)).toBeUndefined();
  const target = refOf(/textbox "Password" .*\[ref=(\w+)\]/);
  expect(writeNamed({ tool: "browser_type", target, text: "x y" }, snapshot)).toBe("type Password: x y");
});
