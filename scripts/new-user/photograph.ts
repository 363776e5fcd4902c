import { join } from "node:path";
import { chromium, type Page } from "playwright-core";

const run = "caretaker-1";

/** Pictures of a run's page and of an episode among its group; returns the Markdown that shows them. */
export async function photograph(executablePath: string, address: string, folder: string): Promise<string> {
  // root cannot use Chromium's own sandbox
  const args = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
  const browser = await chromium.launch({ executablePath, args });
  try {
    const page = await browser.newPage({ viewport: { width: 1200, height: 820 }, colorScheme: "light" });
    await page.goto(address);
    await page.getByText(/runs?, newest first/).waitFor();
    await photographRun(page, join(folder, "dashboard-run.png"));
    await photographEpisode(page, join(folder, "dashboard-episode.png"));
  } finally {
    await browser.close();
  }
  return `![The page of a run: held-out success with its interval, the doctor's findings, curves](dashboard-run.png)

![An episode among its group, every token coloured by its advantage](dashboard-episode.png)`;
}

async function photographRun(page: Page, path: string): Promise<void> {
  await page.goto(new URL(`/runs/${run}`, page.url()).href);
  await page.getByRole("img", { name: /^Training reward: .* [\d.]+/ }).waitFor();
  await page.getByText("Running the doctor").waitFor({ state: "hidden" });
  await page.screenshot({ path });
}

/** A failure of an early step: its group has successes too, so there is something to compare. */
async function photographEpisode(page: Page, path: string): Promise<void> {
  await page.goto(new URL(`/runs/${run}/trajectories?success=false`, page.url()).href);
  await page.locator(".trajectories .row").first().click();
  await page.getByText("Turn 1").first().waitFor();
  await page.getByLabel("Colour by").selectOption("advantage");
  await page.getByLabel("Group side by side").check();
  await page.locator(".column .facts").nth(3).waitFor();
  await page.screenshot({ path });
}
