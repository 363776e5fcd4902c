import { LudusError } from "../../errors.ts";

/** Loaded when a browser is wanted, so that everything else works without the package. */
export async function loadPlaywright(): Promise<typeof import("playwright-core")> {
  try {
    return await import("playwright-core");
  } catch (error) {
    throw new LudusError("no-playwright", {
      got: `no package "playwright-core" (${error instanceof Error ? error.message.split("\n")[0] : error})`,
      expected: 'the package, for pages in Chromium; `pages: "dom"` needs none',
      hint: "npm install playwright-core",
    });
  }
}
