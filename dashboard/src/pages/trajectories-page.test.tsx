import { afterEach, describe, expect, test } from "vitest";
import { runAnswer, summary } from "../testing/fake-answers.ts";
import { fakeServer } from "../testing/fake-server.ts";
import { address, button, click, closePage, fill, find, showPage, texts } from "../testing/show-page.tsx";

afterEach(closePage);

const show = async (search = "", more: Record<string, unknown> = {}) => {
  const server = fakeServer({
    "/runs/first": runAnswer(),
    "/runs/first/count": { count: 17 },
    "/runs/first/trajectories": { trajectories: [summary()], next: 99 },
    ...more,
  });
  await showPage(`/runs/first/trajectories${search}`);
  return server;
};
const field = (label: string) => find(`[aria-label="${label}"]`);

describe("trajectories", () => {
  test("are rows that link to their tokens", async () => {
    await show();
    expect(texts(".row > *")).toEqual([
      "step 12",
      "solved",
      "reward 1",
      "train/0",
      "completed",
      "1 turn",
      "6 tokens",
      "search",
    ]);
    expect(find(".row").getAttribute("href")).toBe("/runs/first/trajectories/7");
    expect(texts(".head .quiet")).toEqual(["17 of 320"]);
  });

  test("of held-out tasks can be asked for, those that failed first", async () => {
    const server = await show("?split=held-out&order=worst");
    expect(texts("h1")).toEqual(["first held-out episodes"]);
    expect(server.requests).toContain("/runs/first/trajectories?limit=50&split=held-out&order=worst");
    expect(server.requests).toContain("/runs/first/count?split=held-out");
    await click(button("Next"));
    expect(address()).toBe("/runs/first/trajectories?split=held-out&order=worst&after=99");
  });

  test("that ended through the infrastructure are marked, and those of the policy are not", async () => {
    const stops = ["max-turns", "parse-error", "tool-crash", "cancelled"] as const;
    const trajectories = stops.map((stop, key) => summary({ key, stop, reward: null, success: false }));
    await show("", { "/runs/first/trajectories": { trajectories } });
    const marked = [...document.querySelectorAll(".stop.broken")].map(({ textContent }) => textContent);
    expect(marked).toEqual(["tool-crash", "cancelled"]);
    expect(texts(".row .number:nth-child(3)")[0]).toBe("reward NaN");
  });

  test("that are none say so", async () => {
    await show("?text=nothing", { "/runs/first/trajectories": { trajectories: [] } });
    expect(texts(".empty")).toEqual(["No trajectory matches these filters."]);
  });

  test("of a run that is gone are a problem", async () => {
    fakeServer({});
    await showPage("/runs/gone/trajectories");
    expect(texts("[role=alert]")).toEqual(["not-found There is nothing at /runs/gone/trajectories."]);
  });
});

describe("filters", () => {
  test("are read from the address, and others in it are not passed on", async () => {
    const server = await show("?success=false&min=0.5&colour=advantage");
    expect(server.requests[0]).toBe("/runs/first/trajectories?limit=50&success=false&min=0.5");
    expect(server.requests).toContain("/runs/first/count?success=false&min=0.5");
    expect((field("Success") as HTMLSelectElement).value).toBe("false");
  });

  test("are written to the address and begin at the first page", async () => {
    await show("?after=40");
    await fill(field("Stop reason"), "max-turns");
    await fill(field("Tool"), "a&b");
    expect(address()).toBe("/runs/first/trajectories?stop=max-turns&tool=a%26b");
    await click(button("Clear"));
    expect(address()).toBe("/runs/first/trajectories");
    expect(button("Clear").disabled).toBe(true);
  });

  test("offer every stop reason", async () => {
    await show();
    expect(texts('[aria-label="Stop reason"] option')).toHaveLength(13);
  });
});

test("pages go on where the last ended, and back to the newest", async () => {
  const server = await show();
  expect(button("Newest").disabled).toBe(true);
  await click(button("Older"));
  expect(address()).toBe("/runs/first/trajectories?after=99");
  expect(server.requests).toContain("/runs/first/trajectories?limit=50&&after=99");
  await click(button("Newest"));
  expect(address()).toBe("/runs/first/trajectories");
});
