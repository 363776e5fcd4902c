import { expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";
import { roomsWeb } from "./testing/rooms.ts";

const { signal } = new AbortController();

test.each(["train", "new-kinds"])("a site of one's own, with tasks of one's own: %s", async (split) => {
  const env = browserEnv({ web: roomsWeb, actions: "names", view: "brief" });
  for (let index = 0; index < 10; index++) {
    const episode = new Episode(env, await env.tasks.at(split, index), { signal });
    let next = await episode.start();
    const read: string[] = [];
    while ("role" in next) {
      read.push(...next.messages.map(({ content }) => content));
      next = await episode.step(episode.expertSays() ?? "");
    }
    expect((await episode.finish(next)).scores.agent.success).toBe(true);
    expect(read.join("\n")).toContain("link Oak");
    expect(read.join("\n")).not.toContain("Log in");
  }
});

test("a kind or an option that names no site is an error", () => {
  expect(() => browserEnv({ web: { sites: {}, kinds: roomsWeb.kinds } })).toThrow('the site "rooms"');
  expect(() => browserEnv({ sites: ["shops"] })).toThrow("one of shop, forum, tracker");
});
