import type { Browser, BrowserContext } from "playwright-core";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../../known-options.ts";
import { createLimiter } from "../../limiter.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import { loadPlaywright } from "./load-playwright.ts";
import { withoutNetwork } from "./network-namespace.ts";

const knownChromiumOptions: KnownOptions<ChromiumOptions> = {
  executable: true,
  browsers: true,
  pageMemoryMb: true,
  headless: true,
  network: true,
};
const defaults: ChromiumOptions = { browsers: 2, pageMemoryMb: 256, headless: true, network: "proxy" };

export interface ChromiumPool {
  /** Whether browsers have no network, so that requests of contexts must be answered by whoever opens them. */
  readonly hasNoNetwork: boolean;
  /** A context of its own, whose only network is the proxy. */
  open(proxy?: string): Promise<BrowserContext>;
  /** The same in a browser that has no other context until `use` has ended, so that it is known whose doing it is if that browser dies. */
  alone<Value>(use: (open: ChromiumPool["open"]) => Promise<Value>, signal?: AbortSignal): Promise<Value>;
  close(): Promise<void>;
}

/** Browsers that are started when they are first needed. */
export function chromiumPool(options: Partial<ChromiumOptions> = {}): ChromiumPool {
  refuseUnknownOptions("chromium", options, knownChromiumOptions);
  const chosen = { ...defaults, ...options };
  refuseOtherValue("network of chromium", chosen.network, ["proxy", "none"]);
  // the last one is for those that must be alone
  const slots: (Promise<Browser> | undefined)[] = Array.from({ length: chosen.browsers + 1 });
  const oneAtATime = createLimiter(1);
  let [next, wantAlone] = [0, 0];
  const browserAt = (slot: number): Promise<Browser> => {
    const started = slots[slot] ?? launch(chosen);
    slots[slot] = started;
    const forget = () => {
      if (slots[slot] === started) slots[slot] = undefined;
    };
    started.then((browser) => browser.once("disconnected", forget), forget);
    return started;
  };
  const openIn = async (slot: number, proxy: string | undefined) => {
    const browser = await browserAt(slot);
    return browser.newContext({
      ...defined({ proxy: proxy === undefined ? undefined : { server: proxy } }),
      acceptDownloads: false,
      serviceWorkers: "block",
      viewport: { width: 1280, height: 720 },
    });
  };
  const closeFrom = async (first: number) => {
    const browsers = await Promise.allSettled(slots.slice(first).filter((slot) => slot !== undefined));
    slots.fill(undefined, first);
    await Promise.allSettled(
      browsers.map((browser) => (browser.status === "fulfilled" ? browser.value.close() : undefined)),
    );
  };
  return {
    hasNoNetwork: chosen.network === "none",
    open: (proxy) => openIn(next++ % chosen.browsers, proxy),
    async alone(use, signal) {
      wantAlone++;
      try {
        return await oneAtATime(() => use((proxy) => openIn(chosen.browsers, proxy)), signal);
      } finally {
        if (--wantAlone === 0) await closeFrom(chosen.browsers);
      }
    },
    close: () => closeFrom(0),
  };
}

/** Playwright's own list, which a second one replaces, and `RenderDocument`, which makes every document a frame of its own at half the speed. */
const unwantedFeatures = [
  "RenderDocument",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsUpgrades",
  "HttpsFirstBalancedModeAutoEnable",
  "LensOverlay",
  "MediaRouter",
  "PaintHolding",
  "ThirdPartyStoragePartitioning",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "OptimizationHints",
  "NetworkTimeServiceQuerying",
  "AimEnabled",
  "PreconnectToSearch",
];

async function launch({
  executable = process.env.LUDUS_BROWSER,
  pageMemoryMb,
  headless,
  network,
}: ChromiumOptions): Promise<Browser> {
  if (executable === undefined || executable === "") {
    throw new LudusError("no-browser", {
      got: "no browser",
      expected: "`executable`, or LUDUS_BROWSER, to name a Chromium",
      hint: "scripts/setup-browser.sh installs one; LUDUS_BROWSER=/usr/bin/chromium-headless-shell",
    });
  }
  const { chromium } = await loadPlaywright();
  const start = (program: string) =>
    chromium.launch({
      executablePath: program,
      headless,
      args: [
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
        "--disable-quic",
        `--disable-features=${unwantedFeatures.join(",")}`,
        `--js-flags=--max-old-space-size=${pageMemoryMb}`,
        // a proxy for the browser itself, so that nothing outside of the contexts asks the network
        "--proxy-server=http://127.0.0.1:9",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
      ],
    });
  try {
    return await (network === "none" ? withoutNetwork(executable, start) : start(executable));
  } catch (error) {
    if (error instanceof LudusError) throw error;
    throw new LudusError("no-browser", {
      got: `${executable}: ${error instanceof Error ? error.message.split("\n")[0] : error}`,
      expected: "a Chromium that starts",
      hint: "scripts/setup-browser.sh installs one; name it with LUDUS_BROWSER.",
    });
  }
}
