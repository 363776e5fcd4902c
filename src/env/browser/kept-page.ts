// A page that outlives its browser. What an episode has changed is in the back end of its sites, which is here; what it did to the document
// that is open is done again in another browser.

import { ToolError } from "../../tool/tool.ts";
import type { ScreenAction } from "../environments/screen-actions.ts";
import type { ChromiumPage, ChromiumPageOptions, PageStorage } from "./chromium-page.ts";
import type { KeptSites } from "./kept-sites.ts";
import type { PageAction, PageDriver, PageFrame, PageView } from "./page-driver.ts";

type OpenPage = (from?: ChromiumPageOptions["from"]) => Promise<ChromiumPage>;

export interface Browsers {
  /** In a browser with other episodes. */
  readonly shared: OpenPage;
  /** In one without, while `use` lasts. */
  alone<Value>(use: (open: OpenPage) => Promise<Value>, signal: AbortSignal): Promise<Value>;
}

interface Step<Value> {
  (page: ChromiumPage, signal: AbortSignal): Promise<Value>;
  readonly goesBack?: boolean;
}

const { signal: never } = new AbortController();
/** Entries of the history that a reopened page can go back to. */
const maxHistory = 20;
const maxReopenings = 3;
const look: PageAction = { tool: "browser_snapshot" };

/**
 * Where its browser dies while it does nothing, the page is opened in another one before the next action. Where it dies during an action, that
 * action is done once more in a browser that has no other page: if that one dies too, the episode ends, and no other one with it.
 */
export class KeptPage implements PageDriver {
  #page: ChromiumPage;
  readonly #browsers: Browsers;
  readonly #sites: KeptSites;
  readonly #release: () => Promise<void>;
  /** Addresses up to that of the document. */
  #history: string[] = [];
  /** What was done to the document. */
  #steps: Step<unknown>[] = [];
  #beginning: ChromiumPage["beginning"] = { documents: 0, cursor: [0, 0] };
  #storage: PageStorage | undefined;

  constructor(page: ChromiumPage, browsers: Browsers, sites: KeptSites, release: () => Promise<void>) {
    this.#page = page;
    this.#browsers = browsers;
    this.#sites = sites;
    this.#release = release;
  }

  act(action: PageAction, signal: AbortSignal): Promise<PageView> {
    const step = (page: ChromiumPage, until: AbortSignal) => page.act(action, until);
    return this.#keep(Object.assign(step, { goesBack: action.tool === "browser_navigate_back" }), signal);
  }

  point(action: ScreenAction): Promise<PageView> {
    return this.#keep((page) => page.point(action), never);
  }

  get cursor(): readonly [number, number] {
    return this.#page.beginning.cursor;
  }

  async evaluate(expression: string): Promise<unknown> {
    const evaluate = async (page: ChromiumPage) => ({ value: await page.evaluate(expression) });
    return (await this.#keep(evaluate, never, evaluate)).value;
  }

  screenshot(): Promise<Uint8Array> {
    return this.#page.screenshot();
  }

  film(target: string | undefined): Promise<PageFrame> {
    return this.#page.film(target);
  }

  async close(): Promise<void> {
    await this.#page.close();
    await this.#release();
  }

  /** `after` is what to do where the step was done, but its answer was lost with the browser: by default a look at the page. */
  async #keep<Value>(step: Step<Value>, signal: AbortSignal, after?: Step<Value>): Promise<Value> {
    if (await this.#page.lostItsBrowser()) await this.#reopen(signal);
    const before = this.#sites.answered;
    try {
      return await this.#perform(this.#page, step, signal);
    } catch (error) {
      if (error instanceof ToolError || !(await this.#page.lostItsBrowser(true))) throw error;
    }
    const wasDone = this.#sites.answered !== before;
    if (wasDone) this.#enter(this.#sites.lastAddress, this.#beginning.documents + 1, step.goesBack);
    const again = wasDone ? (after ?? ((page, until) => page.act(look, until) as Promise<Value>)) : step;
    const value = await this.#alone(again, signal);
    await this.#reopen(signal);
    return value;
  }

  async #perform<Value>(page: ChromiumPage, step: Step<Value>, signal: AbortSignal): Promise<Value> {
    const { loads } = page;
    const value = await step(page, signal);
    if (page.loads === loads) this.#steps.push(step);
    else this.#enter(page.url, page.beginning.documents, step.goesBack);
    this.#beginning = page.beginning;
    // documents without scripts store nothing
    if (this.#sites.haveScripts) this.#storage = await page.stored();
    return value;
  }

  #enter(url: string, documents: number, goesBack = false): void {
    this.#steps = [];
    this.#beginning = { ...this.#beginning, documents };
    // a page that is asked for again replaces itself
    const left = goesBack
      ? this.#history.slice(0, -2)
      : this.#history.filter((known, at) => known !== url || at < this.#history.length - 1);
    this.#history = [...left, url].slice(-maxHistory);
  }

  async #reopen(signal: AbortSignal): Promise<void> {
    await this.#page.close();
    for (let tries = 1; ; tries++) {
      this.#page = await this.#browsers.shared(this.#from);
      try {
        return await this.#restore(this.#page, signal);
      } catch (error) {
        if (tries === maxReopenings || !(await this.#page.lostItsBrowser(true))) throw error;
      }
      // whose doing was it?
      await this.#alone(async () => undefined, signal);
    }
  }

  #alone<Value>(step: Step<Value>, signal: AbortSignal): Promise<Value> {
    return this.#browsers.alone(async (open) => {
      const page = await open(this.#from);
      try {
        await this.#restore(page, signal);
        return await this.#perform(page, step, signal);
      } finally {
        await page.close();
      }
    }, signal);
  }

  /** Documents that are opened on the way to the present one are counted too. */
  get #from(): ChromiumPageOptions["from"] {
    const { documents, cursor } = this.#beginning;
    return { documents: Math.max(0, documents - Math.max(0, this.#history.length - 1)), cursor };
  }

  async #restore(page: ChromiumPage, signal: AbortSignal): Promise<void> {
    if (this.#storage !== undefined) await page.store(this.#storage);
    for (const [index, url] of this.#history.entries()) {
      this.#sites.repeat(url, index < this.#history.length - 1);
      await page.act({ tool: "browser_navigate", url }, signal);
    }
    for (const step of this.#steps) await step(page, signal);
  }
}
