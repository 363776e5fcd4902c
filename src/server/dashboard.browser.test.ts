import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { shippedEnvs } from "../env/environments/index.ts";
import { createRng } from "../random.ts";
import { openRun } from "../store/index.ts";
import { type Dashboard, serveDashboard } from "./dashboard-server.ts";
import { digitsEngine, writeCheckpoint } from "./testing/digits-engine.ts";
import { fakeStep, writeFakeRun } from "./testing/fake-run.ts";
import { hostileFields } from "./testing/hostile-fields.ts";

// In a real Chromium, over runs of anything at all. Whatever a page logs as an error fails its test.

let folder: string;
let dashboard: Dashboard;
let browser: Browser;
const sizes = { groupsPerStep: 2, groupSize: 4, fields: {} };

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "ludus-browser-"));
  const builder = join(import.meta.dirname, "../../scripts/build-dashboard.ts");
  execFileSync(process.execPath, [builder, join(folder, "page")]);
  await writeFakeRun(join(folder, "runs/first"), createRng(1), { steps: 60 });
  const hint = { kind: "plan", text: "Look under the stairs.", prompt_P: Int32Array.of(1, 2) };
  await writeFakeRun(join(folder, "runs/second"), createRng(2), { steps: 30, annotations: { hint } });
  await writeFakeRun(join(folder, "runs/live"), createRng(3), { steps: 5, isEnded: false });
  await writeFakeRun(join(folder, "runs/<b>hostile"), createRng(4), {
    steps: 1,
    groupsPerStep: 1,
    fields: hostileFields(),
  });
  await writeCheckpoint(join(folder, "runs/second/checkpoints/step-000029"));
  dashboard = await serveDashboard({
    runs: join(folder, "runs"),
    assets: join(folder, "page"),
    liveMs: 100,
    environments: shippedEnvs,
    loadEngine: async () => digitsEngine(),
  });
  const executablePath = process.env.LUDUS_BROWSER!;
  // root cannot use Chromium's own sandbox
  browser = await chromium.launch({ executablePath, args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
});

afterAll(async () => {
  await browser?.close();
  await dashboard?.close();
  await rm(folder, { recursive: true });
});

/** Of the page's own world, whose types are not ours. */
interface ImageContext {
  getImageData(x: number, y: number, width: number, height: number): { readonly data: Iterable<number> };
}

interface Open {
  readonly page: Page;
  /** What the page logged as an error, or tried against its policy. */
  readonly errors: string[];
}

async function open<Value>(
  path: string,
  use: (opened: Open) => Promise<Value>,
  options: BrowserContextOptions = {},
): Promise<Value> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const errors: string[] = [];
  page.on("pageerror", (error) => errors.push(error.message));
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
  page.on("dialog", (dialog) => errors.push(`dialog ${dialog.message()}`));
  try {
    await page.goto(dashboard.url);
    await page.getByText("runs, newest first").waitFor();
    await page.goto(new URL(path, dashboard.url).href);
    const value = await use({ page, errors });
    expect(errors).toEqual([]);
    return value;
  } finally {
    await context.close();
  }
}

const scrollsSideways = (page: Page) =>
  page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth");

describe("runs", () => {
  test("are listed, found, chosen and compared", () =>
    open("/", async ({ page }) => {
      await page.locator(".runs .row").nth(3).waitFor();
      expect(page.url()).not.toContain("token");
      await page.keyboard.press("/");
      await page.keyboard.type("sec");
      await page.getByText("1 run,").waitFor();
      await page.keyboard.press("Control+A");
      await page.keyboard.press("Backspace");
      await page.keyboard.press("Escape");
      await page.getByLabel("Select first for comparison").check();
      await page.getByLabel("Select second for comparison").check();
      await page.getByRole("button", { name: "Compare 2" }).click();
      await page.waitForURL("**/compare?run=first&run=second");
      await page.getByRole("img", { name: /^Training reward: first [\d.]+, second [\d.]+/ }).waitFor();
      await page.getByRole("row", { name: /rollout\/reward/ }).waitFor();
    }));

  test("are sorted with the keyboard; j, k and Enter go to one, Escape back", () =>
    open("/", async ({ page }) => {
      await page.locator(".runs .row").nth(3).waitFor();
      await page.getByRole("button", { name: "Steps" }).press("Enter");
      await page.locator("th[aria-sort=descending]", { hasText: "Steps" }).waitFor();
      await expect.poll(() => page.locator(".runs .name").first().textContent()).toBe("first");
      for (const key of ["j", "j", "k"]) await page.keyboard.press(key);
      const name = await page.locator(".runs .name").first().textContent();
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: name! }).waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".runs .row").nth(3).waitFor();
    }));

  test("nobody gets in without the token", async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${dashboard.port}/`);
    await page.getByRole("alert").getByText("ludus dashboard").waitFor();
    expect(await page.locator(".row").count()).toBe(0);
    await context.close();
  });
});

describe("curves", () => {
  test("show rewards, stacks and findings, and keep their settings in the address", () =>
    open("/runs/first?smooth=0.9&log=true&with=second", async ({ page }) => {
      await page.getByRole("img", { name: /^Training reward: first/ }).waitFor();
      await page.getByRole("img", { name: /^Stop reasons \(first\): .*completed [\d.]+/ }).waitFor();
      await page.getByText(/\d+ findings?$/).waitFor();
      expect(await page.getByLabel("Smoothing").inputValue()).toBe("0.9");
      expect(await page.getByLabel("Log scale").isChecked()).toBe(true);
      const plot = page.locator(".u-over").first();
      await plot.hover();
      await page.locator(".chart .step:not(:empty)").first().waitFor();
      const box = (await plot.boundingBox())!;
      await page.mouse.move(box.x + box.width * 0.3, box.y + 50);
      await page.mouse.down();
      await page.mouse.move(box.x + box.width * 0.7, box.y + 60, { steps: 4 });
      await page.mouse.up();
      await page.waitForURL(/from=\d+&to=\d+/);
      await page.getByRole("button", { name: "Show all" }).click();
      await page.waitForURL((url) => !url.search.includes("from"));
    }));

  test("stacked areas are filled with their colours, light or dark", async () => {
    for (const colorScheme of ["light", "dark"] as const) {
      await open(
        "/runs/first",
        async ({ page }) => {
          const chart = page.getByRole("img", { name: /^Stop reasons: .*completed [\d.]+/ });
          await chart.waitFor();
          // the lowest area, in the middle: no grey
          const pixel = (await chart.locator("canvas").evaluate((canvas) => {
            const { width, height } = canvas as unknown as { width: number; height: number };
            const context = (canvas as unknown as { getContext(kind: "2d"): ImageContext }).getContext("2d");
            return [...context.getImageData(Math.round(width / 2) + 3, Math.round(height * 0.78), 1, 1).data];
          })) as number[];
          expect(pixel[2] - pixel[0], colorScheme).toBeGreaterThan(30);
        },
        { colorScheme },
      );
    }
  });

  test("times are stacked, each once", () =>
    open("/runs/first", async ({ page }) => {
      const times = page.getByRole("img", { name: /^Time per step/ });
      await times.scrollIntoViewIfNeeded();
      await expect
        .poll(() => times.getAttribute("aria-label"))
        .toMatch(/^Time per step, seconds: update [\d.]+, rollout [\d.]+, credit [\d.]+$/);
    }));

  test("events are those that are no curve", () =>
    open("/runs/first", async ({ page }) => {
      const events = page.locator(".events");
      await events.getByText("run-end").waitFor();
      await events.getByText("uniform-groups").or(events.getByText("finding")).first().waitFor();
      expect(await events.getByText("step-end").count()).toBe(0);
    }));

  test("follow a run while it is written, and nothing moves", () =>
    open("/runs/live", async ({ page }) => {
      await page.getByText("5 / 100", { exact: true }).waitFor();
      // the page is whole when its charts are drawn
      await page.locator(".u-over").first().waitFor();
      await page.evaluate("document.fonts.ready.then(() => undefined)");
      await page.evaluate(`window.shift = 0; new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) window.shift += entry.value;
      }).observe({ type: "layout-shift" })`);
      const run = await openRun(join(folder, "runs/live"), { now: Date.now });
      for (let step = 5; step < 12; step++) {
        await run.append(step, fakeStep(step, createRng(step), sizes));
        if (step === 5) await page.getByText("6 / 100", { exact: true }).waitFor();
      }
      await page.getByText("12 / 100", { exact: true }).waitFor();
      await run.close();
      expect(Number(await page.evaluate("window.shift"))).toBeLessThan(0.02);
    }));
});

describe("trajectories", () => {
  test("are filtered by what is in the address, opened, and shown among their group", () =>
    open("/runs/first/trajectories?success=true", async ({ page }) => {
      await page.locator(".trajectories .row").first().waitFor();
      await page.getByLabel("Tool", { exact: true }).fill("search");
      await page.waitForURL(/tool=search/);
      await page.getByLabel("Search in text").fill("answer");
      await page.getByText(/^\d+ of 480$/).waitFor();
      await page.locator(".trajectories .row:has-text('turns')").first().waitFor();
      const rows = page.locator(".trajectories .row");
      for (const text of await rows.allTextContents()) expect(text).toContain("search");
      expect(await page.locator(".dot.bad").count()).toBe(0);
      await rows.first().click();
      await page.getByText("Turn 1").first().waitFor();
      await page.locator(".t.said").first().hover();
      await page.getByText(/log p/).waitFor();
      await page.getByLabel("Colour by").selectOption("reward");
      await page.waitForURL(/colour=reward/);
      await page.getByLabel("Group side by side").check();
      await page.locator(".column .facts").nth(3).waitFor();
      const before = page.url();
      await page.locator(".member:not([aria-current])").first().click();
      expect(page.url()).not.toBe(before);
      expect(page.url()).toContain("colour=reward");
    }));

  test("those with a hint can be picked, and show it", () =>
    open("/runs/second/trajectories", async ({ page }) => {
      await page.getByLabel("Hints").selectOption("false");
      await page.getByText("210 of 240").waitFor();
      await page.getByLabel("Hints").selectOption("true");
      await page.waitForURL(/hint=true/);
      await page.getByText("30 of 240").waitFor();
      await page.locator(".trajectories .row").first().click();
      await page.getByText("Hint, plan").click();
      await page.getByText("Look under the stairs.").waitFor();
    }));

  test("tokens are coloured by what the loss gave them, and say so", () =>
    open("/runs/first/trajectories?task=train/0", async ({ page }) => {
      await page.locator(".trajectories .row:has-text('turns')").first().click();
      await page.getByLabel("Colour by").selectOption("advantage");
      const levels = () =>
        page.locator(".t.said").evaluateAll((tokens) => tokens.map((token) => token.getAttribute("style")));
      await expect.poll(async () => new Set(await levels()).size).toBeGreaterThan(3);
      expect(await page.locator(`.t:not(.said)[style*="--level"]`).count()).toBe(0);
      await page.locator(".t.said").last().hover();
      await page
        .locator(".token-note")
        .getByText(/^advantage -?[\d.]+/)
        .waitFor();
    }));

  test("what was not learned from says that it has no advantages", () =>
    open("/runs/first/trajectories?task=train/1", async ({ page }) => {
      await page.locator(".trajectories .row:has-text('turns')").first().click();
      await page.getByLabel("Colour by").selectOption("advantage");
      await page.getByText("This trajectory was not trained on").waitFor();
      expect(await page.locator(`.t[style*="--level"]`).count()).toBe(0);
    }));

  test("a turn has a link that leads to it", () =>
    open("/runs/first/trajectories?success=true", async ({ page }) => {
      await page.locator(".trajectories .row:has-text('4 turns')").first().click();
      await page.getByRole("button", { name: "Turn 4", exact: true }).click();
      await page.waitForURL(/turn=4/);
      await page.reload();
      await page.locator(".turn.linked").getByText("Turn 4").waitFor();
      await expect.poll(() => page.evaluate("window.scrollY")).toBeGreaterThan(0);
    }));

  test("a hostile one is shown as text, and does nothing", () =>
    open("/", async ({ page }) => {
      await page.getByRole("link", { name: "<b>hostile" }).click();
      await page.getByRole("heading", { name: "<b>hostile" }).waitFor();
      await page.getByRole("link", { name: /^Trajectories/ }).click();
      await page.locator(".row", { hasText: "<script>" }).click();
      await page.getByText("Turn 2").waitFor();
      await page.getByText("⟨U+202E⟩right to left").first().waitFor();
      await page.getByText("more tokens").first().click();
      await page.getByText("more characters").first().waitFor();
      expect(await page.evaluate("window.hacked")).toBeUndefined();
      expect(await page.locator("script:not([src]), main img, main svg, main b:has(*)").count()).toBe(0);
      expect(await scrollsSideways(page)).toBe(false);
      // the page still obeys
      await page.keyboard.press("Escape");
      await page.locator(".trajectories .row").first().waitFor();
    }));
});

test("an environment is played by hand to its end, beside what the policy sees", () =>
  open("/play?env=bandit", async ({ page }) => {
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("What the policy sees").waitFor();
    await page.getByRole("button", { name: "Suggest expert message" }).click();
    await expect.poll(() => page.locator("textarea").inputValue()).not.toBe("");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByRole("status").getByText("completed").waitFor();
  }));

test("a checkpoint plays beside it, token by token, and another of its choices can be taken", () =>
  open("/play?env=bandit&run=second", async ({ page }) => {
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Checkpoint at step 29").waitFor();
    await page.getByLabel("temperature").fill("0");
    await page.getByRole("button", { name: "Sample token" }).click();
    const rows = page.locator(".suggested li");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(1);
    const choices = rows.first().getByRole("button");
    expect((await choices.allTextContents()).slice(0, 2)).toEqual(["1 70%", "2 20%"]);
    await choices.nth(1).click();
    await rows.nth(1).getByRole("button").first().waitFor();
    expect(await page.locator(".suggested .t").allTextContents()).toEqual(["2", "<|im_end|>"]);
    await page.getByRole("button", { name: "Send this" }).click();
    await page.locator(".message.assistant").getByText("2", { exact: true }).waitFor();
  }));

describe("entropy", () => {
  test("is computed for a link that asks for it", () =>
    open("/runs/second/trajectories?success=true", async ({ page }) => {
      await page.locator(".trajectories .row:has-text('turns')").first().click();
      await page.waitForURL(/trajectories\/\d+/);
      await page.goto(`${page.url()}?colour=entropy`);
      await page.locator(`.t.said[style*="--level"]`).first().waitFor();
      await page.locator(".t.said").first().hover();
      await page
        .locator(".token-note")
        .getByText(/^entropy [\d.]+/)
        .waitFor();
    }));
});

describe("any screen", () => {
  const phone = { viewport: { width: 390, height: 800 }, hasTouch: true };

  const pages = [
    "/",
    "/runs/first",
    "/runs/%3Cb%3Ehostile",
    "/runs/first/trajectories",
    "/runs/first/trajectories/1?colour=advantage",
    "/runs/first/trajectories/1?group=true",
    "/compare",
    "/compare?run=first&run=second",
    "/play",
  ];

  test("a phone shows every page without scrolling sideways", async () => {
    for (const path of pages) {
      await open(
        path,
        async ({ page }) => {
          await page.locator("main > *").first().waitFor();
          await page.waitForLoadState("networkidle", { timeout: 2000 }).catch(() => {});
          expect(await scrollsSideways(page), path).toBe(false);
        },
        phone,
      );
    }
  });

  test("dark where the system is, and where it is asked for", async () => {
    const ground = (page: Page) => page.evaluate("getComputedStyle(document.documentElement).backgroundColor");
    const dark = await open("/", ({ page }) => ground(page), { colorScheme: "dark" });
    await open("/", async ({ page }) => {
      const light = await ground(page);
      expect(light).not.toBe(dark);
      await page.getByRole("button", { name: "Dark" }).click();
      expect(await ground(page)).toBe(dark);
      await page.reload();
      expect(await ground(page)).toBe(dark);
    });
  });
});

describe("problems", () => {
  /** Chromium logs every response that is no success. */
  const forget = (errors: string[]) => {
    const expected = errors.splice(0);
    expect(expected.filter((text) => !text.startsWith("Failed to load resource"))).toEqual([]);
  };

  test.each([
    ["/runs/no-such-run", "no-such-run"],
    ["/runs/first/trajectories/999999", "999999"],
    ["/runs/%E0%A4%A/trajectories", "%E0%A4%A"],
  ])("%s is a message, not a blank page", (path, text) =>
    open(path, async ({ page, errors }) => {
      await page.getByRole("alert").getByText(text).first().waitFor();
      await page.getByRole("link", { name: "Ludus" }).click();
      await page.getByText("runs, newest first").waitFor();
      forget(errors);
    }),
  );

  test("a server that stops is reported until it is back", () =>
    open("/", async ({ page, errors }) => {
      await page.locator(".runs .row").nth(3).waitFor();
      await page.route("**/api/**", (route) => route.abort());
      await page.getByLabel("Find runs by name").fill("s");
      await page.getByRole("alert").getByText("The server does not respond.").waitFor();
      await page.unroute("**/api/**");
      await page.getByLabel("Find runs by name").fill("");
      await page.locator(".runs .row").nth(3).waitFor();
      await expect.poll(() => page.getByRole("alert").count()).toBe(0);
      forget(errors);
    }));
});
