import type { Browser, BrowserContext } from "playwright-core";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../../known-options.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import { loadPlaywright } from "./load-playwright.ts";

const knownChromiumOptions: KnownOptions<ChromiumOptions> = {
  executable: true,
  browsers: true,
  pageMemoryMb: true,
  headless: true,
};
const defaults: ChromiumOptions = { browsers: 2, pageMemoryMb: 256, headless: true };

export interface ChromiumPool {
  /** A context of its own, whose only network is the proxy. */
  open(proxy: string): Promise<BrowserContext>;
  close(): Promise<void>;
}

/** Browsers that are started when they are first needed. */
export function chromiumPool(options: Partial<ChromiumOptions> = {}): ChromiumPool {
  refuseUnknownOptions("chromium", options, knownChromiumOptions);
  const chosen = { ...defaults, ...options };
  const slots: (Promise<Browser> | undefined)[] = Array.from({ length: chosen.browsers });
  let next = 0;
  const browserAt = (slot: number): Promise<Browser> => {
    const started = slots[slot] ?? launch(chosen);
    slots[slot] = started;
    const forget = () => {
      if (slots[slot] === started) slots[slot] = undefined;
    };
    started.then((browser) => browser.once("disconnected", forget), forget);
    return started;
  };
  return {
    async open(proxy) {
      const slot = next++ % chosen.browsers;
      const browser = await browserAt(slot);
      return browser.newContext({
        proxy: { server: proxy },
        acceptDownloads: false,
        serviceWorkers: "block",
        viewport: { width: 1280, height: 720 },
      });
    },
    async close() {
      const browsers = await Promise.allSettled(slots.filter((slot) => slot !== undefined));
      slots.fill(undefined);
      await Promise.allSettled(
        browsers.map((browser) => (browser.status === "fulfilled" ? browser.value.close() : undefined)),
      );
    },
  };
}

async function launch({
  executable = process.env.LUDUS_BROWSER,
  pageMemoryMb,
  headless,
}: ChromiumOptions): Promise<Browser> {
  if (executable === undefined || executable === "") {
    throw new LudusError("no-browser", {
      got: "no browser",
      expected: "`executable`, or LUDUS_BROWSER, to name a Chromium",
      hint: "scripts/setup-browser.sh installs one; LUDUS_BROWSER=/usr/bin/chromium-headless-shell",
    });
  }
  const { chromium } = await loadPlaywright();
  try {
    return await chromium.launch({
      executablePath: executable,
      headless,
      args: [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        `--js-flags=--max-old-space-size=${pageMemoryMb}`,
        // a proxy for the browser itself, so that nothing outside of the contexts asks the network
        "--proxy-server=http://127.0.0.1:9",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      ],
    });
  } catch (error) {
    throw new LudusError("no-browser", {
      got: `${executable}: ${error instanceof Error ? error.message.split("\n")[0] : error}`,
      expected: "a Chromium that starts",
      hint: "scripts/setup-browser.sh installs one; name it with LUDUS_BROWSER.",
    });
  }
}
