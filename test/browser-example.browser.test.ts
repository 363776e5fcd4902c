import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildPage } from "../examples/browser/build-page.ts";
import { serveFolder } from "../examples/browser/serve-folder.ts";
import { world } from "../examples/browser/world.ts";
import { fromScratch, grpo, imitate, type Rollout, runRollout, train } from "../src/index.ts";

// examples/browser in a real Chromium: what the page plays is what the engine plays that trained the agent.
// How good an agent is after more training than there is time for here is for the example to say.

const questions = 25;
let folder: string;
let site: Awaited<ReturnType<typeof serveFolder>>;
let browser: Browser;
/** What the engine makes of the first questions, always taking the most probable token. */
const played: Rollout[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-page-"));
  const run = join(folder, "run");
  const { policy } = await train({
    env: world(),
    policy: fromScratch({ size: "tiny", tokenizer: "bytes" }),
    warmStart: imitate({ demonstrations: 300, noise: 0, steps: 80, batchSize: 16, learningRate: 3e-3 }),
    algorithm: grpo({ groupSize: 2 }),
    steps: 1,
    tasksPerStep: 2,
    eval: { tasks: 0 },
    run,
  });
  const env = world();
  for (let i = 0; i < questions; i++) {
    const task = await env.tasks.at("test", i);
    played.push(await runRollout(env, task, policy, { id: `question-${i}`, seed: i, temperature: 0 }));
  }
  await policy.engine.close();
  await buildPage(run, join(folder, "page"));
  site = await serveFolder(join(folder, "page"), 0);
  const executablePath = process.env.LUDUS_BROWSER!;
  // root cannot use Chromium's own sandbox
  browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await site?.close();
  await rm(folder, { recursive: true });
});

async function open(use: (page: Page) => Promise<void>): Promise<void> {
  const page = await browser.newPage({ viewport: { width: 390, height: 900 } });
  page.setDefaultTimeout(30_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  try {
    await page.goto(site.url);
    await page.locator("#ask:enabled").waitFor();
    await use(page);
    expect(errors).toEqual([]);
  } finally {
    await page.close();
  }
}

/** What the page shows that the agent said, turn by turn. */
async function saidOn(page: Page): Promise<unknown> {
  return page.evaluate(`Array.from(document.querySelectorAll("#talk .agent"), (line) =>
    Array.from(line.querySelectorAll(".token"), (token) => token.textContent).join(""))`);
}

const said = (index: number) => played[index].trajectories[0].turns.map(({ text }) => text);

test("a question is answered turn by turn, as the engine answers it", () =>
  open(async (page) => {
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByRole("status").getByText("of 1 answers").waitFor();
    expect(await saidOn(page)).toEqual(said(0));
    const { turns, score, tokens_T, mask_T } = played[0].trajectories[0];
    const tokens = await page.locator("#talk .token").count();
    expect(tokens + turns.length).toBe(tokens_T.filter((_, t) => mask_T[t] === 1).length);
    const told = await page.locator("#talk .world").allTextContents();
    for (const [i, { observation }] of turns.slice(0, -1).entries()) expect(told[i + 1]).toContain(observation);
    await page
      .locator("#talk .end")
      .getByText(score.success ? "Right." : "Wrong:")
      .waitFor();
    expect(await page.locator("#talk .token").first().getAttribute("title")).toMatch(/ \d+%/);
    expect(await page.evaluate("document.documentElement.scrollWidth > innerWidth")).toBe(false);
  }));

test("many questions are answered, each as the engine answers it", () =>
  open(async (page) => {
    const right = played.filter(({ trajectories }) => trajectories[0].score.success).length;
    await page.getByRole("button", { name: `Ask ${questions}` }).click();
    await page.getByRole("status").getByText(`${right} of ${questions} answers are right.`).waitFor();
    expect(await saidOn(page)).toEqual(said(questions - 1));
    for (const index of [7, 12, 18]) {
      await page.getByLabel("question").fill(String(index));
      await page.getByRole("button", { name: "Ask", exact: true }).click();
      // it moves on when the answer is there
      await expect.poll(() => page.getByLabel("question").inputValue(), { timeout: 20_000 }).toBe(String(index + 1));
      expect(await saidOn(page)).toEqual(said(index));
    }
    expect(new Set(played.map((_, index) => said(index).join())).size).toBeGreaterThan(5);
  }));
