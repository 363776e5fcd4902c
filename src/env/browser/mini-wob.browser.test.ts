import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { miniWob } from "./mini-wob.ts";

const { signal } = new AbortController();
// where the published pages are; the suite of those is left out without them
const published = process.env.LUDUS_MINIWOB ?? "";
const folder = mkdtempSync(join(tmpdir(), "ludus-miniwob-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

// a page written for this test, with the few names of MiniWoB's core that an episode uses
mkdirSync(join(folder, "miniwob"));
writeFileSync(
  join(folder, "miniwob/click-button.html"),
  `<!doctype html><title>Own page</title><script>
  let WOB_DONE_GLOBAL = false, WOB_RAW_REWARD_GLOBAL = 0;
  Math.seedrandom = () => {};
  const end = (reward) => { WOB_DONE_GLOBAL = true; WOB_RAW_REWARD_GLOBAL = reward; };
  const core = {
    startEpisodeReal() { document.body.innerHTML = '<button onclick="end(1)">yes</button><button onclick="end(-1)">no</button>'; },
    getUtterance: () => 'Click on the "yes" button.',
  };
  </script><body></body>`,
);

async function play(pages: readonly string[], from: string, say?: string) {
  const env = miniWob({ folder: from, pages, chromium: { browsers: 1 }, actionMs: 20_000 });
  const episode = new Episode(env, await env.tasks.at("test", 0), { signal });
  let next = await episode.start();
  while ("role" in next) {
    const wrong = episode.possibleTexts().find((text) => say !== undefined && text !== episode.expertSays());
    next = await episode.step(wrong ?? episode.expertSays() ?? "");
  }
  const { stop, failure, scores } = await episode.finish(next);
  return { stop, failure, total: scores.agent.total, success: scores.agent.success };
}

test("a page's own reward is the episode's", async () => {
  const [won, lost] = [await play(["click-button"], folder), await play(["click-button"], folder, "wrong")];
  expect(won).toEqual({ stop: "completed", failure: undefined, total: 1, success: true });
  expect(lost).toEqual({ stop: "completed", failure: undefined, total: -1, success: false });
});

test("a folder without the pages, or a page it does not have, is an error", () => {
  expect(() => miniWob({ folder: join(folder, "no") })).toThrow("no-miniwob");
  expect(() => miniWob({ folder, pages: ["click-buton"] })).toThrow("click-buton");
});

describe.runIf(existsSync(join(published, "miniwob")))("the published pages", () => {
  const pages = [
    "click-button",
    "click-test",

    "enter-text",
    "login-user",
    "enter-password",
    "choose-list",
  ];
  test.each(pages)("%s is solved by the expert", async (page) => {
    expect(await play([page], published)).toMatchObject({ stop: "completed", success: true });
  });
});
