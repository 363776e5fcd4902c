import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { browserEnv } from "../env/browser/browser-env.ts";
import { byteTokenizer } from "../policy/byte-tokenizer.ts";
import { compactRenderer } from "../policy/compact-renderer.ts";
import { demonstrate } from "../rollout/run-rollout.ts";
import { makeTrajectoryGroup } from "../schema/trajectory-group.ts";
import { openRun } from "../store/index.ts";
import { type Dashboard, serveDashboard } from "./dashboard-server.ts";

// An episode on real pages, as it is kept and shown.

let folder: string;
let dashboard: Dashboard;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-film-"));
  const builder = join(import.meta.dirname, "../../scripts/build-dashboard.ts");
  execFileSync(process.execPath, [builder, join(folder, "page")]);
  await writeRun(join(folder, "runs/filmed"));
  dashboard = await serveDashboard({ runs: join(folder, "runs"), assets: join(folder, "page") });
});

afterAll(async () => {
  await dashboard?.close();
  await rm(folder, { recursive: true });
});

/** A run whose only episode is the expert's. */
async function writeRun(directory: string): Promise<void> {
  const env = browserEnv({ pages: "chromium", film: true, actions: "names", view: "brief", sites: ["forum"] });
  const tokenizer = byteTokenizer();
  const renderContext = { renderer: compactRenderer({ tokenizer }), engine: { info: { contextLength: 1 << 16 } } };
  // one that logs in, opens a thread and votes
  const task = await firstOf(env, "forum-vote");
  const { trajectories } = await demonstrate(env, task, renderContext, { id: "0/film", seed: 1 });
  await mkdir(directory, { recursive: true });
  const run = await openRun(directory, { now: () => 1_700_000_000_000 });
  await run.append(0, {
    metrics: {},
    groups: [{ group: makeTrajectoryGroup(task, trajectories), split: "train", advantages: new Map() }],
    events: [{ type: "step-end", step: 0, metrics: {} }],
    config: { env: { name: "browser" }, algorithm: { name: "grpo" }, steps: 1, seed: 1 },
  });
  await run.close();
}

async function firstOf(env: ReturnType<typeof browserEnv>, kind: string) {
  for (let index = 0; ; index++) {
    const task = await env.tasks.at("train", index);
    if (task.data.kind === kind) return task;
  }
}

test("an episode in Chromium is a film with the element that is acted on, and stays small", async () => {
  const browser = await chromium.launch({ executablePath: process.env.LUDUS_BROWSER!, args: ["--no-sandbox"] });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
    page.setDefaultTimeout(15_000);
    await page.goto(dashboard.url);
    await page.goto(new URL("/runs/filmed/trajectories", dashboard.url).href);
    await page.locator("a[href*='/runs/filmed/trajectories/']").first().click();
    await page.locator(".film-now img").waitFor();
    expect(await page.locator(".film-action").textContent()).toBe("click Log in");
    expect(await page.locator(".film-strip img").count()).toBe(8);
    // the link is on top of the page, to the right of others
    const [box, whole] = await Promise.all([
      page.locator(".film-now .film-box").boundingBox(),
      page.locator(".film-now .film-picture").boundingBox(),
    ]);
    expect((box!.y - whole!.y) / whole!.height).toBeLessThan(0.1);
    for (let frame = 1; frame < 7; frame++) await page.getByLabel("Next frame").click();
    expect(await page.locator(".film-action").textContent()).toMatch(/^click Vote (up|down)$/);
    const changes = await page.locator(".film-changes li").allTextContents();
    expect(changes).toEqual([expect.stringMatching(/^- \d+ votes$/), expect.stringMatching(/^\+ \d+ votes$/)]);
    const sizes = await page
      .locator(".film-strip img")
      .evaluateAll((images) => images.map((image) => (image as unknown as { src: string }).src.length));
    expect(Math.max(...sizes)).toBeLessThan(40_000);
    const kept = process.env.LUDUS_FILM_PICTURE;
    if (kept !== undefined) await writeFile(kept, await page.screenshot());
  } finally {
    await browser.close();
  }
});
