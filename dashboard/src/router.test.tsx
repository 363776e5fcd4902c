import { afterEach, describe, expect, test } from "vitest";
import { href, Link, queryNumber, setQuery, usePlace } from "./router.tsx";
import { address, click, closePage, find, render, settle } from "./testing/show-page.tsx";

afterEach(closePage);

describe("addresses", () => {
  test("are encoded part by part", () => {
    expect(href(["runs", "a/b c?#", "trajectories", 7])).toBe("/runs/a%2Fb%20c%3F%23/trajectories/7");
    expect(href([])).toBe("/");
  });

  test("leave out what is undefined or empty, and repeat lists", () => {
    expect(href(["compare"], { run: ["a", "b&c"], env: undefined, text: "", log: false, from: 0 })).toBe(
      "/compare?run=a&run=b%26c&log=false&from=0",
    );
  });

  test("keep the rest of the query when one field changes", () => {
    history.replaceState(null, "", "/runs/a?smooth=0.9&log=true&run=x&run=y");
    setQuery({ log: undefined, run: ["z"], from: 3 });
    expect(address()).toBe("/runs/a?smooth=0.9&run=z&from=3");
    setQuery({ smooth: "", run: undefined, from: undefined });
    expect(address()).toBe("/runs/a");
  });

  test.each([
    ["?skip=25", 25],
    ["?skip=-1", -1],
    ["?skip=abc", 4],
    ["?skip=", 4],
    ["?skip=Infinity", 4],
    ["", 4],
  ])("the number of %j is %d", (search, value) => {
    expect(queryNumber(new URLSearchParams(search), "skip", 4)).toBe(value);
  });
});

const Place = () => {
  const { path, query } = usePlace();
  return <output>{JSON.stringify([path, query.toString()])}</output>;
};

describe("the place", () => {
  const shown = () => JSON.parse(find("output").textContent ?? "");

  test("is decoded, and follows the address", async () => {
    history.replaceState(null, "", "/runs/a%2Fb%20c?x=1");
    await render(<Place />);
    expect(shown()).toEqual([["runs", "a/b c"], "x=1"]);
    await settle(() => setQuery({ x: "2" }));
    expect(shown()).toEqual([["runs", "a/b c"], "x=2"]);
  });

  test("of an address that is badly encoded is shown as it stands", async () => {
    history.replaceState(null, "", "/runs/100%25%");
    await render(<Place />);
    expect(shown()[0]).toEqual(["runs", "100%25%"]);
  });
});

describe("links", () => {
  test("change the page without loading it anew", async () => {
    await render(
      <>
        <Link href="/runs/b">b</Link>
        <Place />
      </>,
    );
    await click(find("a"));
    expect(address()).toBe("/runs/b");
  });

  test("leave clicks with a modifier to the browser", async () => {
    await render(<Link href="/runs/b">b</Link>);
    const event = new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey: true });
    await settle(() => {
      // the browser would open a tab; happy-dom must not navigate
      document.addEventListener("click", (each) => each.preventDefault(), { once: true });
      find("a").dispatchEvent(event);
    });
    expect(address()).toBe("/");
  });
});
