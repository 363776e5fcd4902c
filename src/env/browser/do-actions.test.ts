import { expect, test } from "vitest";
import { readDo, writeDo } from "./do-actions.ts";
import { DomPage } from "./dom-page.ts";
import { SiteBackend } from "./site-backend.ts";

test("go_forward() goes where go_backward() came from, and nowhere at the end of the history", () => {
  const page = new DomPage(new SiteBackend(1));
  const goes = (said: string) => {
    const action = readDo(said);
    return action === undefined || "answer" in action ? "no action" : page.act(action).url;
  };
  goes('do(action="Go To", argument="http://shop.test/")');
  goes('do(action="Go To", argument="http://shop.test/login")');
  expect(goes("go_forward()")).toBe("http://shop.test/login");
  expect(goes("go_backward()")).toBe("http://shop.test/");
  expect(goes("go_forward()")).toBe("http://shop.test/login");
  goes("go_backward()");
  goes('do(action="Go To", argument="http://forum.test/")');
  expect(goes("go_forward()")).toBe("http://forum.test/");
  expect(goes('do(action="Switch Tab", argument="1")')).toBe("no action");
});

test("what is written is read as the same action; a form as a whole cannot be said", () => {
  for (const tool of ["browser_navigate_back", "browser_navigate_forward", "browser_snapshot"] as const) {
    expect(readDo(writeDo({ tool }) ?? "")).toEqual({ tool });
  }
  expect(writeDo({ tool: "browser_fill_form", fields: [] })).toBeUndefined();
});
