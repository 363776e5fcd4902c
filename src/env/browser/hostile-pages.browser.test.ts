import { expect, test } from "vitest";
import { ToolError } from "../../tool/tool.ts";
import { chromiumPages } from "./page-source.ts";
import { SiteBackend } from "./site-backend.ts";

const { signal } = new AbortController();
const pages: Readonly<Record<string, string>> = {
  "/hang": "<button>Hang</button><script>document.querySelector('button').onclick = () => { for (;;) {} }</script>",
  "/alert":
    "<p>Before</p><button onclick=\"alert('hello'); document.querySelector('p').textContent = 'After'\">Alert</button>",
  "/download": "<a href='/file'>Download</a>",
  // in a handler, `open` is the document's: what follows is never loaded to its end
  "/loading": "<button onclick=\"open('/loading')\">Load</button>",
  "/window": "<button onclick=\"for (let i = 0; i < 5; i++) window.open('/window')\">Open</button>",
  "/off-site":
    "<a href='http://elsewhere.example/x'>Leave</a><script>fetch('http://127.0.0.1:22/').catch(() => {}); fetch('https://elsewhere.example/y').catch(() => {}); new WebSocket('ws://elsewhere.example/z')</script>",
  "/redirect": "<script>location.href = 'http://elsewhere.example/moved'</script>",
  "/grow":
    '<button onclick="const kept = []; for (;;) kept.push(Array.from({ length: 1e5 }, (_, i) => ({ i })))">Grow</button>',
  "/big": "<script>for (let i = 0; i < 4000; i++) document.write('<p>line ' + i + '</p>')</script>",
};

function extra(url: URL) {
  if (url.host !== "hostile.test") return undefined;
  if (url.pathname === "/file") return { type: "application/octet-stream", body: "x".repeat(1000) };
  const body = pages[url.pathname];
  return body === undefined ? undefined : { type: "text/html", body: `<!doctype html><title>Hostile</title>${body}` };
}

const source = chromiumPages({ browsers: 1, pageMemoryMb: 64 }, { actionMs: 8000, maxSnapshotChars: 20_000 });

async function open(path: string) {
  const page = await source.open(new SiteBackend(1), extra);
  const view = await page.act({ tool: "browser_navigate", url: `http://hostile.test${path}` }, signal);
  return { page, view };
}

const refIn = (snapshot: string) => /(?:button|link) .*\[ref=(\w+)\]/.exec(snapshot)?.[1] ?? "";

/** Does what a hostile page waits for beside an episode that goes on, and returns what came of it. */
async function clickBeside(path: string): Promise<string> {
  const other = await source.open(new SiteBackend(2));
  try {
    await other.act({ tool: "browser_navigate", url: "http://shop.test/" }, signal);
    const { page, view } = await open(path);
    try {
      const clicked = await page.act({ tool: "browser_click", target: refIn(view.snapshot) }, signal);
      return clicked.snapshot;
    } catch (error) {
      return error instanceof ToolError
        ? `told: ${error.message}`
        : `ended: ${error instanceof Error ? error.message : error}`;
    } finally {
      const after = await other.act({ tool: "browser_navigate", url: "http://forum.test/" }, signal);
      expect(after.snapshot).toContain("Cooking");
      await page.close();
    }
  } finally {
    await other.close();
  }
}

test("a page that hangs", async () => {
  expect(await clickBeside("/hang")).toMatch(/^told: .*(did not answer|Timeout)/s);
});

test("a page that alerts goes on", async () => {
  expect(await clickBeside("/alert")).toContain("After");
});

test("a page that is never loaded to its end", async () => {
  expect(await clickBeside("/loading")).toMatch(/^told: .*(did not answer|Timeout)/s);
});

test("a download is not taken", async () => {
  expect(await clickBeside("/download")).toContain("Download");
});

test("windows that a page opens are closed", async () => {
  expect(await clickBeside("/window")).toContain("Open");
});

test("a page that grows without bound is ended", async () => {
  expect(await clickBeside("/grow")).toMatch(/^(ended|told)/);
});

test("a page that is too long is cut", async () => {
  const { page, view } = await open("/big");
  expect(view.snapshot.length).toBeLessThanOrEqual(20_000);
  await page.close();
});

test("no request leaves the sites", async () => {
  expect(await clickBeside("/off-site")).toContain("outside of the sites");
  const { page } = await open("/redirect");
  const view = await page.act({ tool: "browser_snapshot" }, signal);
  expect([view.url, view.snapshot]).toEqual(["http://elsewhere.example/moved", expect.stringContaining("outside")]);
  for (const url of ["file:///etc/passwd", "chrome://crash", "javascript:alert(1)"]) {
    await expect(async () => page.act({ tool: "browser_navigate", url }, signal)).rejects.toThrow(
      "no address of a page",
    );
  }
  await page.close();
});
