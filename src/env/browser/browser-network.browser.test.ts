import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { chromium } from "playwright-core";
import { expect, test } from "vitest";
import { withoutNetwork } from "./network-namespace.ts";
import { chromiumPages } from "./page-source.ts";
import { SiteBackend } from "./site-backend.ts";
import { walkBoth } from "./testing/walk-both.ts";

const { signal } = new AbortController();
const executable = process.env.LUDUS_BROWSER ?? "";

/** A server on loopback that no page may reach, and what reached it. */
async function listening() {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(request.url ?? "");
    response.end("reached");
  });
  server.on("upgrade", (request, socket) => {
    heard.push(request.url ?? "");
    socket.destroy();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { at: `127.0.0.1:${port}`, heard, close };
}

const launch = (executablePath: string) => chromium.launch({ executablePath, args: ["--no-sandbox"] });

test("a browser without a network reaches no server, where one with a network does", async () => {
  const server = await listening();
  for (const [browser, reaches] of [
    [await launch(executable), true],
    [await withoutNetwork(executable, launch), false],
  ] as const) {
    const page = await browser.newPage();
    const went = page.goto(`http://${server.at}/asked`).then(
      () => "went",
      () => "refused",
    );
    expect(await went).toBe(reaches ? "went" : "refused");
    await browser.close();
    expect(server.heard.splice(0).includes("/asked")).toBe(reaches);
  }
  server.close();
});

test.each(["proxy", "none"] as const)("no page reaches a server beside the sites, with network %s", async (network) => {
  const server = await listening();
  const script = `const at = "${server.at}"; const tried = [fetch("http://" + at + "/fetch", { mode: "no-cors" }),
    new Promise((done) => { const image = new Image(); image.onload = image.onerror = done; image.src = "http://" + at + "/image"; }),
    new Promise((done) => { const socket = new WebSocket("ws://" + at + "/socket"); socket.onopen = socket.onerror = done; })];
    navigator.sendBeacon("http://" + at + "/beacon");
    Promise.allSettled(tried).then(() => { document.title = "tried"; });`;
  const extra = (url: URL) =>
    url.host === "hostile.test" ? { type: "text/html", body: `<p>Here</p><script>${script}</script>` } : undefined;
  const source = chromiumPages({ network, browsers: 1 }, { actionMs: 10_000, maxSnapshotChars: 10_000 });
  const page = await source.open(new SiteBackend(1), extra);
  await page.act({ tool: "browser_navigate", url: "http://hostile.test/" }, signal);
  await page.evaluate!(
    "new Promise((done) => { const look = () => document.title === 'tried' ? done() : setTimeout(look, 20); look(); })",
  );
  const there = await page.act({ tool: "browser_navigate", url: `http://${server.at}/page` }, signal);
  expect(there.snapshot).toContain("outside of the sites");
  await page.close();
  expect(server.heard).toEqual([]);
  server.close();
});

test("pages are the same in a browser without a network", async () => {
  const source = chromiumPages({ network: "none", browsers: 1 }, { actionMs: 20_000, maxSnapshotChars: 1 << 20 });
  const walks = await Promise.all(Array.from({ length: 3 }, (_, seed) => walkBoth(source, seed, 40, signal)));
  expect(walks).toEqual(walks.map(() => ({ steps: 40, same: 40 })));
});

test("where there are no namespaces, it says what to do", async () => {
  const start = withoutNetwork(executable, async () => "started", "/no/such/unshare");
  await expect(start).rejects.toMatchObject({ message: expect.stringContaining("util-linux") });
});
