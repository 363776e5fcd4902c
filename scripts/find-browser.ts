import { existsSync } from "node:fs";

/** Where Debian, Ubuntu and others put a Chromium; `chromium-headless-shell` starts fastest. */
const known = [
  "/usr/bin/chromium-headless-shell",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
  "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

export type BrowserSearch = { found: true; browser: string } | { found: false; chosen: boolean; reason: string };

/** The Chromium for the browser suites: `LUDUS_BROWSER` where it is set, else one that is installed. */
export function findBrowser(chosen: string | undefined, isThere = existsSync): BrowserSearch {
  if (chosen !== undefined) {
    return isThere(chosen)
      ? { found: true, browser: chosen }
      : { found: false, chosen: true, reason: `${chosen} is not there` };
  }
  const browser = known.find(isThere);
  return browser === undefined
    ? { found: false, chosen: false, reason: "there is no Chromium" }
    : { found: true, browser };
}
