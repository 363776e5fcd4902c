// apart from the pool: whoever reads these types need not have playwright-core

export interface ChromiumOptions {
  /** The program. `LUDUS_BROWSER` where absent. */
  executable?: string;
  /** How many browsers share the episodes. Where one dies, its episodes go on in another, but for the one whose page it was that ended it. */
  browsers: number;
  /** Megabytes of JavaScript that one page may hold before it is ended. */
  pageMemoryMb: number;
  headless: boolean;
  /**
   * `proxy`: a context's only network is a proxy on loopback, which has the sites. `none`: the browser is in a network namespace of its own
   * in which there is nothing, and its requests are answered before they become any. Linux only.
   */
  network: "proxy" | "none";
}
