// Plays the expert of `repositories()` on held-out bugs, stores the episodes as a run, and photographs one in the dashboard:
// docs/learn/dashboard-code.png. Needs bubblewrap, Chromium and `npm run build`.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";
import { repositories } from "../src/env/environments/repositories.ts";
import { byteTokenizer } from "../src/policy/byte-tokenizer.ts";
import { compactRenderer } from "../src/policy/compact-renderer.ts";
import { demonstrate } from "../src/rollout/run-rollout.ts";
import { serveDashboard } from "../src/server/dashboard-server.ts";
import { sqliteRuns } from "../src/store/sqlite-runs.ts";
import { bubblewrapSandbox } from "../src/tool/sandbox/bubblewrap-sandbox.ts";
import { findBrowser } from "./find-browser.ts";

const search = findBrowser(process.env.LUDUS_BROWSER);
if (!search.found) throw new Error(`No browser: ${search.reason}`);
const folder = await mkdtemp(join(tmpdir(), "ludus-code-episode-"));
try {
  const runs = sqliteRuns(folder);
  const sandbox = bubblewrapSandbox({ warm: "python" });
  const env = repositories({ languages: ["python", "javascript"] });
  const policy = {
    renderer: compactRenderer({ tokenizer: byteTokenizer() }),
    engine: { info: { contextLength: 1e5 } },
  };
  const run = await runs.openForWriting("expert", { now: () => 0 });
  const task = await env.tasks.at("test", 3);
  const played = await demonstrate(env, task, policy, { id: "expert/0", seed: 0, sandbox });
  await run.append(0, { groups: [{ group: { task, trajectories: played.trajectories }, split: "test" }] });
  const [stored] = (await run.trajectories()).trajectories;
  await run.close();
  const dashboard = await serveDashboard({ runs, port: 0 });
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath: search.browser, args });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 820 }, colorScheme: "light" });
    await page.goto(dashboard.url); // with the token
    await page.getByText(/runs?, newest first/).waitFor();
    await page.goto(new URL(`/runs/expert/trajectories/${stored!.key}`, dashboard.url).href);
    await page.locator(".code-step .passed").waitFor();
    await page.screenshot({ path: join(import.meta.dirname, "../docs/learn/dashboard-code.png") });
  } finally {
    await browser.close();
    await dashboard.close();
  }
} finally {
  await rm(folder, { recursive: true, force: true });
}
