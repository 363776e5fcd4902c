import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { anySeries, groupAnswer, runAnswer, runSummary, trajectoryAnswer } from "./testing/fake-answers.ts";
import { fakeServer } from "./testing/fake-server.ts";
import { address, button, click, closePage, find, press, showPage, texts } from "./testing/show-page.tsx";

beforeEach(() => {
  fakeServer({
    "/runs": { runs: [runSummary(), runSummary({ id: "second" })], total: 2 },
    "/runs/first": runAnswer(),
    "/runs/first/findings": { findings: [] },
    "/runs/first/events": { events: [] },
    "/runs/first/trajectories": { trajectories: [trajectoryAnswer().summary] },
    "/runs/first/count": { count: 1 },
    "/runs/first/trajectories/7": trajectoryAnswer(),
    "/runs/first/groups/3": groupAnswer(),
    "/environments": { environments: [] },
    "/series": anySeries,
  });
});
afterEach(closePage);

const current = () => texts('nav [aria-current="page"]');

describe("pages by address", () => {
  test.each([
    ["/", "Runs", ".runs"],
    ["/no/such/page", "", ".runs"],
    ["/runs", "Runs", ".runs"],
    ["/runs/first", "Runs", ".findings"],
    ["/runs/first/whatever", "Runs", ".findings"],
    ["/runs/first/trajectories", "Runs", ".trajectories"],
    ["/runs/first/trajectories/7", "Runs", ".turns"],
    ["/compare", "Compare", ".overlay"],
    ["/play", "Play", "select"],
  ])("%s is in %j", async (path, section, selector) => {
    await showPage(path);
    find(`main ${selector}`);
    expect(current()).toEqual(section === "" ? [] : [section]);
  });

  test("a link of the header opens another page", async () => {
    await showPage("/runs/first");
    await click(find('nav a[href="/compare"]'));
    expect([address(), texts("h1")]).toEqual(["/compare", ["Compare"]]);
  });
});

describe("keys", () => {
  test("Escape goes up one level at a time", async () => {
    await showPage("/runs/first/trajectories/7");
    const seen = [];
    for (let i = 0; i < 4; i++) {
      await press("Escape");
      seen.push(address());
    }
    expect(seen).toEqual(["/runs/first/trajectories", "/runs/first", "/", "/"]);
  });

  test("j and k move through rows and stop at the ends", async () => {
    await showPage("/");
    const seen = [];
    for (const key of ["j", "j", "j", "k", "k"]) {
      await press(key);
      seen.push(document.activeElement?.textContent);
    }
    expect(seen).toEqual(["first", "second", "second", "first", "first"]);
  });

  test("k goes to the last row where none is focused", async () => {
    await showPage("/");
    await press("k");
    expect(document.activeElement?.textContent).toBe("second");
  });

  test("/ focuses the search, and Escape leaves it without leaving the page", async () => {
    await showPage("/runs/first/trajectories");
    await press("/");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Search in text");
    await press("j", document.activeElement!);
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Search in text");
    await press("Escape", document.activeElement!);
    expect(address()).toBe("/runs/first/trajectories");
  });

  test("] and [ go through the group", async () => {
    await showPage("/runs/first/trajectories/7?colour=advantage");
    await press("]");
    expect(address()).toBe("/runs/first/trajectories/8?colour=advantage");
  });
});

test("the theme is toggled and remembered", async () => {
  await showPage("/");
  await click(button("Dark"));
  expect([document.documentElement.dataset.theme, localStorage.getItem("theme")]).toEqual(["dark", "dark"]);
  await click(button("Light"));
  expect(document.documentElement.dataset.theme).toBe("light");
});
