import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import type { BrowserContext } from "playwright-core";
import { expect, test } from "vitest";
import { Episode } from "../episode.ts";
import { browserEnv } from "./browser-env.ts";
import { ChromiumPage } from "./chromium-page.ts";
import { chromiumPool } from "./chromium-pool.ts";
import { type Browsers, KeptPage } from "./kept-page.ts";
import { KeptSites } from "./kept-sites.ts";
import { chromiumPages } from "./page-source.ts";
import { SiteBackend } from "./site-backend.ts";

const { signal } = new AbortController();

/** Undefined where the process has ended meanwhile. */
function ofRunning<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && "code" in error && ["ENOENT", "ESRCH"].includes(String(error.code))) return undefined;
    throw error;
  }
}

function childrenOf(pid: number): number[] {
  const threads = ofRunning(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  const own = threads.flatMap((thread) =>
    (ofRunning(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "")
      .split(" ")
      .filter((word) => word !== "")
      .map(Number),
  );
  return [...own, ...own.flatMap(childrenOf)];
}

/** Browsers that this process started, the first one first: their own processes, not those of their pages or of a script that starts them. */
function browsers(): number[] {
  const isBrowser = (pid: number) => {
    const command = ofRunning(() => readFileSync(`/proc/${pid}/cmdline`, "utf8")) ?? "";
    const isScript = /(?:^|sh)$/.test(ofRunning(() => readlinkSync(`/proc/${pid}/exe`)) ?? "");
    return command.includes("--remote-debugging-pipe") && !command.includes("--type=") && !isScript;
  };
  return childrenOf(process.pid)
    .filter(isBrowser)
    .sort((one, other) => one - other);
}

const fine = { stop: "completed", success: true, failure: undefined };

async function begin(env: ReturnType<typeof browserEnv>, index: number) {
  const episode = new Episode(env, await env.tasks.at("train", index), { signal });
  return { episode, next: await episode.start(), told: [] as string[] };
}

type Begun = Awaited<ReturnType<typeof begin>>;

async function step(begun: Begun): Promise<void> {
  if (!("role" in begun.next)) return;
  begun.next = await begun.episode.step(begun.episode.expertSays() ?? "");
  if ("role" in begun.next) begun.told.push(...begun.next.messages.map(({ content }) => content));
}

async function play(begun: Begun) {
  while ("role" in begun.next) await step(begun);
  const { stop, scores, failure } = await begun.episode.finish(begun.next);
  return { stop, success: scores.agent?.success ?? false, failure };
}

const options = { pages: "chromium", actionMs: 10_000, levels: [2, 3] } as const;

test("where a browser is killed, its episodes go on in another, and are told the same", async () => {
  const env = browserEnv({ ...options, chromium: { browsers: 2 } });
  const undisturbed = browserEnv({ ...options, pages: "dom" });
  const begun = await Promise.all([0, 1, 2, 3].map((index) => begin(env, index)));
  const same = await Promise.all([0, 1, 2, 3].map((index) => begin(undisturbed, index)));
  // once between two actions, and once in the middle of them: a form that was sent is not sent again
  for (const isIdle of [true, false]) {
    await Promise.all(begun.map(step));
    const [first, ...others] = browsers();
    expect(others).toHaveLength(1);
    const acting = isIdle ? [] : begun.map(step);
    process.kill(first, "SIGKILL");
    await Promise.all(acting);
    if (isIdle) await Promise.all(begun.map(step));
  }
  expect(await Promise.all(begun.map(play))).toEqual([fine, fine, fine, fine]);
  await Promise.all(same.map(play));
  expect(begun.map(({ told }) => told)).toEqual(same.map(({ told }) => told));
  expect(browsers()).toHaveLength(2);
});

const hostile = (url: URL) => {
  if (url.host !== "hostile.test") return undefined;
  if (url.pathname === "/kill") for (const pid of browsers()) process.kill(pid, "SIGKILL");
  const body = `<!doctype html><title>Hostile</title><a href="/killer">Leave</a> <input> <button onclick="localStorage.seen = document.cookie = 'a=1'">Keep</button>
    <p></p><script>document.querySelector("p").textContent = "kept " + (localStorage.seen ?? "nothing");
    if (location.pathname === "/killer") fetch("/kill");</script>`;
  return { type: "text/html", body };
};

test("a page that ends its browser again and again ends alone", async () => {
  const source = chromiumPages({ browsers: 1 }, { actionMs: 10_000, maxSnapshotChars: 1 << 18 });
  const [culprit, beside] = [await source.open(new SiteBackend(1), hostile), await source.open(new SiteBackend(2))];
  const view = await culprit.act({ tool: "browser_navigate", url: "http://hostile.test/" }, signal);
  const login = await beside.act({ tool: "browser_navigate", url: "http://shop.test/login" }, signal);
  const field = /textbox "User" \[ref=(\w+)\]/.exec(login.snapshot)?.[1] ?? "";
  const written = await beside.act({ tool: "browser_type", target: field, text: "ada" }, signal);
  expect(written.snapshot).toContain("ada");
  const target = /link "Leave" \[ref=(\w+)\]/.exec(view.snapshot)?.[1] ?? "";
  await expect(culprit.act({ tool: "browser_click", target }, signal)).rejects.toThrow("page");
  await culprit.close();
  expect(await beside.act({ tool: "browser_snapshot" }, signal)).toEqual(written);
  await beside.close();
});

test("what a page with scripts keeps in its browser goes along", async () => {
  const source = chromiumPages({ browsers: 1 }, { actionMs: 10_000, maxSnapshotChars: 1 << 18 });
  const page = await source.open(new SiteBackend(1), hostile);
  const { snapshot } = await page.act({ tool: "browser_navigate", url: "http://hostile.test/" }, signal);
  expect(snapshot).toContain("kept nothing");
  const refOf = (role: string) => new RegExp(`${role} .*?\\[ref=(\\w+)\\]`).exec(snapshot)?.[1] ?? "";
  await page.act({ tool: "browser_type", target: refOf("textbox"), text: "written" }, signal);
  await page.act({ tool: "browser_click", target: refOf("button") }, signal);
  for (const pid of browsers()) process.kill(pid, "SIGKILL");
  const after = await page.act({ tool: "browser_snapshot" }, signal);
  expect(after.snapshot).toContain("written");
  expect(await page.evaluate!("document.cookie")).toBe("a=1");
  expect((await page.act({ tool: "browser_navigate", url: "http://hostile.test/" }, signal)).snapshot).toContain(
    "kept a=1",
  );
  await page.close();
});

test("a page that crashes in a browser that goes on ends its own episode", async () => {
  const pool = chromiumPool({ browsers: 1 });
  const contexts: BrowserContext[] = [];
  const open = async () => {
    contexts.push(await pool.open());
    return ChromiumPage.open(contexts[contexts.length - 1], { actionMs: 10_000, maxSnapshotChars: 1 << 18 });
  };
  const browser: Browsers = { shared: open, alone: (use) => use(open) };
  const make = async () =>
    new KeptPage(await open(), browser, new KeptSites(new SiteBackend(1), undefined), async () => {});
  const [crashing, beside] = [await make(), await make()];
  const [page] = contexts[0].pages();
  const session = await contexts[0].newCDPSession(page);
  const crashed = page.waitForEvent("crash");
  session.send("Page.crash").catch(() => {});
  await crashed;
  await expect(crashing.act({ tool: "browser_snapshot" }, signal)).rejects.toThrow("the page crashed");
  await expect(beside.act({ tool: "browser_snapshot" }, signal)).resolves.toMatchObject({ url: "about:blank" });
  expect(contexts).toHaveLength(2);
  await Promise.all([crashing.close(), beside.close()]);
  await pool.close();
});
