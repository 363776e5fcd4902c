import { expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";

const { signal } = new AbortController();

test("tasks are solved by coordinates from the boxes of elements", async () => {
  const env = browserEnv({
    pages: "chromium",
    actions: "computer-use",
    sites: ["shop", "tracker"],
    actionMs: 20_000,
    viewTokens: 20_000,
  });
  const seen = new Set<string>();
  for (let index = 0; seen.size < 4 && index < 200; index++) {
    const task = await env.tasks.at("train", index);
    const { kind } = task.data;
    // lists need a keyboard, which the expert does not use
    if (!["shop-price", "shop-cart", "tracker-open", "tracker-close"].includes(kind) || seen.has(kind)) continue;
    seen.add(kind);
    const episode = new Episode(env, task, { signal });
    let next = await episode.start();
    while ("role" in next) next = await episode.step(episode.expertSays() ?? "");
    const { stop, failure, scores } = await episode.finish(next);
    expect([kind, stop, failure, scores.agent.success]).toEqual([kind, "completed", undefined, true]);
  }
  expect(seen.size).toBe(4);
});

test("pages without places refuse coordinates", () => {
  expect(() => browserEnv({ actions: "computer-use" })).toThrow("chromium");
});
