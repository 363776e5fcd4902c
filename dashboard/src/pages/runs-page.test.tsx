import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { RunSummary } from "../../../src/server/dashboard/answers.ts";
import { evaluation, runSummary } from "../testing/fake-answers.ts";
import { FakeEventSource } from "../testing/fake-event-source.ts";
import { fakeServer, problem } from "../testing/fake-server.ts";
import { address, button, click, closePage, fill, find, settle, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const show = async (runs: readonly Parameters<typeof runSummary>[0][], path = "/", total = runs.length) => {
  const server = fakeServer({ "/runs": { runs: runs.map(runSummary), total } });
  await showPage(path);
  return server;
};

describe("a list of runs", () => {
  test("that is empty says when one appears", async () => {
    await show([]);
    expect(texts(".empty")).toEqual(["No runs yet. They appear here once training starts: npx ludus train train.ts"]);
    expect(texts(".quiet")).toEqual(["0 runs, newest first"]);
  });

  test("in which nothing was found says so", async () => {
    await show([], "/?search=nothing");
    expect(texts(".empty")).toEqual(["No run matches this search."]);
  });

  test("shows where each run stands", async () => {
    await show([{ id: "live", status: "running", steps: 1234, plannedSteps: 2000, reward: 0.123456 }]);
    expect(texts(".row .name, .row .status, .row .what, .row .number")).toEqual([
      ...["live", "running", "shelf · grpo", "–", "0.123", "1,234 / 2,000", "–", "…"],
    ]);
    expect(find(".status").className).toBe("status running");
  });

  test("marks runs that failed or that the doctor stopped", async () => {
    await show([
      { id: "a", status: "failed" },
      { id: "b", status: "doctor" },
      { id: "c", status: "silent" },
    ]);
    const kinds = [...document.querySelectorAll(".status")].map(({ className }) => className);
    expect(kinds).toEqual(["status bad", "status bad", "status warn"]);
  });

  test("shows why a run cannot be read instead of its numbers", async () => {
    await show([{ id: "broken", status: "running", problem: "run.sqlite is not a database" }]);
    expect(texts(".row .status, .row .what, .row .number")).toEqual(["failed", "run.sqlite is not a database"]);
  });

  test("shows a run that has hardly begun", async () => {
    const run: RunSummary = { id: "new", status: "running", changed: 0, steps: 0, curve: [] };
    fakeServer({ "/runs": { runs: [run], total: 1 } });
    await showPage("/");
    expect(texts(".row .what, .row .number")).toEqual(["", "–", "–", "0", "–", "…"]);
  });

  test("shows a reward that is not finite", async () => {
    await show([{ reward: null, success: null, curve: [null, null] }]);
    expect(texts(".row .number")[1]).toBe("NaN");
    expect(find(".spark polyline").getAttribute("points")).toBe("");
  });

  test.each(["a/b", "<b>bold</b>", "100%", "ünïcode 👩‍👧", "a?b#c", "x".repeat(300)])(
    "links to a run with the name %s",
    async (id) => {
      const server = await show([{ id }]);
      expect(texts(".name")).toEqual([id]);
      expect(document.querySelector(".row b")).toBeNull();
      server.requests.length = 0;
      await click(find(".name"));
      expect(server.requests).toContain(`/runs/${encodeURIComponent(id)}`);
    },
  );
});

describe("searching, paging and comparing", () => {
  test("the search is part of the address and goes back to the first page", async () => {
    const server = await show([{}], "/?skip=25", 60);
    await fill(find("[data-search]"), "tea & co");
    expect(address()).toBe("/?search=tea+%26+co");
    expect(server.requests.at(-1)).toBe("/runs?search=tea+%26+co&skip=0&limit=25");
  });

  test("pages go back and forth, and end", async () => {
    await show([{}], "/", 60);
    expect(button("Newer").disabled).toBe(true);
    await click(button("Older"));
    await click(button("Older"));
    expect(address()).toBe("/?skip=50");
    expect(texts(".tools .quiet")).toContain("51–60 of 60");
    expect(button("Older").disabled).toBe(true);
    await click(button("Newer"));
    await click(button("Newer"));
    expect(address()).toBe("/");
  });

  test("a page number that is none is the first page", async () => {
    const server = await show([{}], "/?skip=abc", 60);
    expect(server.requests[0]).toContain("skip=0");
  });

  test("two selected runs are compared", async () => {
    await show([{ id: "a" }, { id: "b c" }]);
    expect(button("Compare").disabled).toBe(true);
    for (const box of document.querySelectorAll<HTMLElement>("[type=checkbox]")) await click(box);
    await click(button("Compare 2"));
    expect(address()).toBe("/compare?run=a&run=b+c");
  });
});

describe("problems", () => {
  test.each([
    ["a server that is gone", new TypeError("fetch failed"), "unreachable The server does not respond."],
    [
      "a session without a token",
      problem(401, "no-token", "Open the address that ludus dashboard printed."),
      "No token",
    ],
    ["a folder that is gone", problem(500, "no-folder", "runs/ is gone"), "no-folder runs/ is gone"],
    ["malformed JSON", new Response('{"runs":'), 'malformed-response Not JSON: {"runs":'],
  ])("%s is shown", async (_, reply, text) => {
    fakeServer({ "/runs": reply });
    await showPage("/");
    expect(find("[role=alert]").textContent).toContain(text);
    expect(texts(".row, .empty")).toEqual([]);
  });
});

describe("columns", () => {
  test("show held-out success, duration and findings of a run", async () => {
    const heldOut = { first: evaluation(0, 0.25), last: evaluation(39, 0.755) };
    const server = fakeServer({
      "/runs": { runs: [runSummary({ heldOut, started: 0, changed: 3_725_000 })], total: 1 },
      "/findings": { runs: [{ run: "first", errors: 1, warnings: 2 }] },
    });
    await showPage("/");
    expect(texts(".row .number")).toEqual([
      ...["76% 71–81% +51", "0.5", "40 / 100", "1 h 2 min", "1 error 2 warnings"],
    ]);
    expect(server.requests).toContain("/findings?run=first");
  });

  const sorts = [
    ["Run", "sort=name&order=up", "ascending"],
    ["Held-out success", "sort=heldOut", "descending"],
    ["Findings", "sort=findings", "descending"],
    ["Duration", "sort=duration", "descending"],
  ] as const;
  test.each(sorts)("%s sorts by %s, and turns round", async (label, asked, direction) => {
    const server = await show([{}], "/?skip=25", 60);
    await click(button(label));
    expect(server.requests.findLast((path) => path.startsWith("/runs?"))).toBe(
      `/runs?search=&skip=0&limit=25&${asked}`,
    );
    expect(find("th[aria-sort]").getAttribute("aria-sort")).toBe(direction);
    await click(find("th[aria-sort] button"));
    expect(find("th[aria-sort]").getAttribute("aria-sort")).not.toBe(direction);
  });

  test("by findings go on until the doctor has seen all", async () => {
    let left = 3;
    const server = fakeServer({ "/runs": () => ({ runs: [runSummary()], total: 3, unexamined: --left }) });
    await showPage("/?sort=findings");
    await settle();
    expect(left).toBe(0);
    expect(server.requests.filter((path) => path.startsWith("/runs?"))).toHaveLength(3);
  });
});

test("a server that is gone is told, and what changed meanwhile is asked for when it is back", async () => {
  const server = await show([{}]);
  await settle(() => FakeEventSource.send("open"));
  expect(texts("header [role=status]")).toEqual(["live"]);
  await settle(() => FakeEventSource.send("error"));
  expect(texts("header [role=status]")).toEqual(["offline"]);
  expect(find(".offline").textContent).toContain("The server does not respond");
  expect(texts(".row .name")).toEqual(["first"]);
  server.requests.length = 0;
  await settle(() => FakeEventSource.send("open"));
  expect(document.querySelector(".offline")).toBeNull();
  expect(server.requests.some((path) => path.startsWith("/runs?"))).toBe(true);
});

describe("live", () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => vi.useRealTimers());

  test("many events lead to one request, and closing the page ends it", async () => {
    const server = await show([{}]);
    const lists = () => server.requests.filter((path) => path.startsWith("/runs?"));
    expect(lists()).toHaveLength(1);
    for (let i = 0; i < 20; i++) FakeEventSource.send("list");
    await settle(() => vi.advanceTimersByTime(1300));
    expect(lists()).toHaveLength(2);
    await closePage();
    expect(FakeEventSource.open.size).toBe(0);
  });
});
