import type { BrowserContext, CDPSession, Locator, Page, Request } from "playwright-core";
import { LudusError } from "../../errors.ts";
import { ToolError } from "../../tool/tool.ts";
import type { ScreenAction } from "../environments/screen-actions.ts";
import { answerInside } from "./answer-inside.ts";
import { durationMs, performOn } from "./computer-actions.ts";
import { isTextControl } from "./dom-form.ts";
import { addressOf } from "./dom-page.ts";
import { missingRef, type PageAction, type PageDriver, type PageFrame, type PageView } from "./page-driver.ts";
import { fillField, told, waitFor, within } from "./page-hands.ts";
import {
  boxScript,
  chooseScript,
  hasOption,
  PlainDocument,
  parseRead,
  pointScript,
  readScript,
  selectTextScript,
} from "./plain-document.ts";
import type { SiteAnswer, SiteAsked } from "./site-server.ts";

export interface ChromiumPageOptions {
  /** For each action and each snapshot. */
  readonly actionMs: number;
  /** Characters of a snapshot that are read at most. */
  readonly maxSnapshotChars: number;
  /** Whether snapshots have the boxes of elements. */
  readonly boxes?: boolean;
  /** Who reads documents without scripts and styles of their own: `ludus`, which is fast and the default, or Playwright, which reads all others. */
  readonly reader?: "ludus" | "playwright";
  /** Where a page goes on that was in another browser: how many documents it had had before the present one, and where its cursor was. */
  readonly from?: PageBeginning;
}

interface PageBeginning {
  readonly documents: number;
  readonly cursor: readonly [number, number];
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** What a page keeps in its browser. */
export interface PageStorage {
  readonly cookies: Awaited<ReturnType<BrowserContext["cookies"]>>;
  /** Origin, local and session storage as JSON. */
  readonly text: string;
}

/** 1280 by 720 pixels become 512 by 288: some ten kilobytes. */
const filmScale = 0.4;

/** A page in Chromium, with what could reach beyond its episode turned off. */
export class ChromiumPage implements PageDriver {
  readonly #context: BrowserContext;
  readonly #page: Page;
  readonly #options: ChromiumPageOptions;
  readonly #loading = new Set<Request>();
  #failure: string | undefined;
  #cursor: readonly [number, number] = [0, 0];
  /** Whether all documents so far were like those of the sites. */
  #isPlain: boolean;
  #document: PlainDocument | undefined;
  #isReadByPlaywright = false;
  #documents: number;
  /** What Playwright, which counts in its own page, does not know of. */
  readonly #documentsBefore: number;
  #loads = 0;
  #hasCrashed = false;
  #url = "";
  #filming: CDPSession | undefined;

  private constructor(context: BrowserContext, page: Page, options: ChromiumPageOptions) {
    this.#context = context;
    this.#page = page;
    this.#options = options;
    this.#isPlain = options.reader !== "playwright" && options.boxes !== true;
    this.#documentsBefore = options.from?.documents ?? 0;
    this.#documents = this.#documentsBefore;
    this.#cursor = options.from?.cursor ?? [0, 0];
    page.setDefaultTimeout(options.actionMs);
    // as Playwright numbers documents in refs
    page.on("framenavigated", (frame) => {
      if (frame !== page.mainFrame()) return;
      if (this.#url !== "" && this.#url !== "about:blank") this.#documents++;
      this.#url = frame.url();
      this.#document = undefined;
      this.#isReadByPlaywright = false;
    });
    page.on("domcontentloaded", () => {
      this.#loads++;
    });
    page.on("frameattached", () => {
      this.#isPlain = false;
    });
    page.on("dialog", (dialog) => void dialog.dismiss().catch(() => {}));
    page.on("download", (download) => void download.cancel().catch(() => {}));
    page.on("crash", () => {
      this.#hasCrashed = true;
      this.#fail("the page crashed");
    });
    page.on("close", () => this.#fail("the page was closed"));
    context.on("close", () => this.#fail("the browser was closed"));
    // a window that a page opens is closed: one episode is one page
    context.on(
      "page",
      (other) =>
        void other
          .close()
          .then(() => page.bringToFront())
          .catch(() => {}),
    );
    const done = (request: Request) => this.#loading.delete(request);
    page.on("request", (request) => {
      if (request.isNavigationRequest() && request.frame() === page.mainFrame()) this.#loading.add(request);
    });
    page.on("requestfinished", done);
    page.on("requestfailed", done);
  }

  /** `answer` is for a browser without a network. */
  static async open(
    context: BrowserContext,
    options: ChromiumPageOptions,
    answer?: (request: SiteAsked) => SiteAnswer,
  ): Promise<ChromiumPage> {
    const page = await context.newPage();
    if (answer !== undefined) await answerInside(context, page, answer);
    return new ChromiumPage(context, page, options);
  }

  #fail(why: string): void {
    this.#failure ??= why;
  }

  /** Documents that were loaded to the end of their text: another number means another document. */
  get loads(): number {
    return this.#loads;
  }

  get url(): string {
    return this.#page.url();
  }

  /** What a page in another browser begins from, to be this one. */
  get beginning(): PageBeginning {
    return { documents: this.#documents, cursor: this.#cursor };
  }

  /** Whether the page is gone because its browser is. Where something failed, that may be told a moment later. */
  async lostItsBrowser(hasFailed = false): Promise<boolean> {
    if (this.#hasCrashed) return false;
    const browser = this.#context.browser();
    if (browser?.isConnected() !== true) return true;
    if (this.#failure === undefined && !hasFailed) return false;
    // pages are told before their browser is: it is asked, and one that does not answer is gone
    try {
      const session = await within(this.#options.actionMs, browser.newBrowserCDPSession());
      await session.detach();
      return false;
    } catch {
      return true;
    }
  }

  /** Cookies of the episode, and what the document's origin stores. */
  async stored(): Promise<PageStorage> {
    const text = this.#page.evaluate("JSON.stringify([location.origin, { ...localStorage }, { ...sessionStorage }])");
    const cookies = await this.#context.cookies();
    return {
      cookies,
      text: String(
        await within(
          this.#options.actionMs,
          text.catch(() => "[]"),
        ),
      ),
    };
  }

  async store({ cookies, text }: PageStorage): Promise<void> {
    await this.#context.addCookies([...cookies]);
    await this.#context.addInitScript(`(() => {
      const [origin, local, session] = ${text};
      if (origin !== location.origin || sessionStorage.length + localStorage.length > 0) return;
      Object.assign(localStorage, local);
      Object.assign(sessionStorage, session);
    })()`);
  }

  async act(action: PageAction, signal: AbortSignal): Promise<PageView> {
    this.#check();
    try {
      if (!(await this.#doPlainly(action))) {
        await this.#do(action, signal);
        await this.#settle();
      }
      return await this.#view();
    } catch (error) {
      if (error instanceof ToolError) throw error;
      this.#check();
      throw error;
    }
  }

  async point(action: ScreenAction): Promise<PageView> {
    this.#check();
    const page = this.#page;
    const hands = {
      mouse: page.mouse,
      keyboard: page.keyboard,
      waitForTimeout: (ms: number) => page.waitForTimeout(ms),
    };
    this.#cursor = await within(
      this.#options.actionMs + durationMs(action),
      performOn(hands, action, this.#cursor).catch(told(action.name)),
    );
    await this.#settle();
    return this.#view();
  }

  #check(): void {
    if (this.#failure === undefined) return;
    throw new LudusError("page-lost", { got: this.#failure, expected: "a page until the end of the episode" });
  }

  async #view(): Promise<PageView> {
    const { actionMs, maxSnapshotChars } = this.#options;
    const plain = this.#isPlain && this.#url !== "about:blank" ? await this.#read() : undefined;
    if (plain !== undefined) return { ...plain, snapshot: plain.snapshot.slice(0, maxSnapshotChars) };
    const snapshot = await this.#playwrightSnapshot();
    const title = await within(actionMs, this.#page.title());
    return { url: this.#page.url(), title, snapshot: snapshot.slice(0, maxSnapshotChars) };
  }

  /** Playwright's own timeout may come before that of `within`: the model is told of either. */
  async #playwrightSnapshot(): Promise<string> {
    const { actionMs, boxes = false } = this.#options;
    this.#isReadByPlaywright = true;
    const snapshot = this.#page.ariaSnapshot({ mode: "ai", timeout: actionMs, boxes });
    const text = await within(actionMs, snapshot.catch(told("page.ariaSnapshot")));
    return text.replace(
      /\[ref=(f\d+)?(e\d+)\]/g,
      (_, frame = "", ref) => `[ref=${moved(frame, this.#documentsBefore)}${ref}]`,
    );
  }

  /** The view of a document that is like those of the sites. */
  async #read(): Promise<PageView | undefined> {
    // a document that is left while it is read is left to Playwright, which waits for the next
    const text = this.#page.evaluate(readScript).catch(() => undefined);
    const read = parseRead(await within(this.#options.actionMs, text));
    if (read?.body !== undefined) {
      this.#document = new PlainDocument(read.body, this.#documents === 0 ? "" : `f${this.#documents}`);
    }
    if (read?.focus === undefined || this.#document === undefined) {
      this.#isPlain = false;
      return undefined;
    }
    return { url: read.url, title: read.title, snapshot: this.#document.snapshot(read) };
  }

  /** In a document without scripts it is known what an action leads to. False where it is better left to Playwright. */
  async #doPlainly(action: PageAction): Promise<boolean> {
    if (!this.#isPlain || this.#document === undefined || !("target" in action)) return false;
    const found = this.#document.find(action.target);
    if (found === undefined) throw new ToolError(missingRef(action.target.slice(0, 100)));
    const { at, element } = found;
    const ask = (script: string) => within(this.#options.actionMs, this.#page.evaluate(script));
    switch (action.tool) {
      case "browser_click": {
        if (action.doubleClick || (action.button ?? "left") !== "left") return false;
        const [x, y, leads] = ((await ask(pointScript(at))) ?? []) as [number?, number?, boolean?];
        if (x === undefined || y === undefined) return false;
        await (leads ? this.#leave(() => this.#page.mouse.click(x, y)) : this.#page.mouse.click(x, y));
        return true;
      }
      case "browser_type": {
        if (action.submit || !isTextControl(element) || !(await ask(selectTextScript(at)))) return false;
        const { keyboard } = this.#page;
        await (action.text === "" ? keyboard.press("Delete") : keyboard.insertText(action.text));
        return true;
      }
      case "browser_select_option": {
        const [value, ...more] = action.values;
        if (element.tag !== "select" || more.length > 0 || value === undefined || !hasOption(element, value))
          return false;
        return (await ask(chooseScript(at, value))) === true;
      }
      case "browser_hover":
        return false;
      default:
        return action satisfies never;
    }
  }

  /** Until the document that an action leads to is loaded. */
  async #leave(act: () => Promise<void>): Promise<void> {
    const loaded = this.#page.waitForEvent("load", { timeout: this.#options.actionMs });
    await Promise.all([loaded.catch(told("the page did not load to its end")), act()]);
    this.#loading.clear();
  }

  async #do(action: PageAction, signal: AbortSignal): Promise<void> {
    const timeout = this.#options.actionMs;
    const page = this.#page;
    switch (action.tool) {
      case "browser_navigate": {
        const { href } = addressOf(action.url);
        await page.goto(href, { timeout, signal, waitUntil: "load" }).catch(told("page.goto"));
        return;
      }
      case "browser_navigate_back":
        await page.goBack({ timeout, signal }).catch(told("page.goBack"));
        return;
      case "browser_navigate_forward":
        await page.goForward({ timeout, signal }).catch(told("page.goForward"));
        return;
      case "browser_fill_form":
        for (const field of action.fields) await fillField(await this.#find(field.target), field, { timeout, signal });
        return;
      case "browser_wait_for":
        return waitFor(page, action, signal);
      case "browser_snapshot":
        return;
      case "browser_hover":
        return (await this.#find(action.target)).hover({ timeout, signal }).catch(told("hover"));
      case "browser_click":
        return this.#click(action, signal);
      case "browser_type": {
        const field = await this.#find(action.target);
        await field.fill(action.text, { timeout, signal }).catch(told("fill"));
        if (action.submit) await field.press("Enter", { timeout, signal }).catch(told("press"));
        return;
      }
      case "browser_select_option": {
        const list = await this.#find(action.target);
        await list.selectOption([...action.values], { timeout, signal }).catch(told("selectOption"));
        return;
      }
      case "browser_press_key":
        return page.keyboard.press(action.key).catch(told("press"));
      default:
        action satisfies never;
    }
  }

  async #click(action: Extract<PageAction, { tool: "browser_click" }>, signal: AbortSignal): Promise<void> {
    const element = await this.#find(action.target);
    const options = { timeout: this.#options.actionMs, signal, button: action.button ?? "left" };
    await (action.doubleClick ? element.dblclick(options) : element.click(options)).catch(told("click"));
  }

  async #find(ref: string): Promise<Locator> {
    if (!/^(f\d+)?e\d{1,9}$/.test(ref)) throw new ToolError(missingRef(ref.slice(0, 100)));
    // Playwright knows the refs of its own snapshots
    if (!this.#isReadByPlaywright) await this.#playwrightSnapshot();
    const own = ref.replace(/^f\d+/, (frame) => moved(frame, -this.#documentsBefore));
    const element = this.#page.locator(`aria-ref=${own}`);
    if ((await within(this.#options.actionMs, element.count())) === 0) throw new ToolError(missingRef(ref));
    return element;
  }

  /** Until what the action started to load is there. A frame and a task later a page has asked for what its handlers wanted. */
  async #settle(): Promise<void> {
    const { actionMs } = this.#options;
    // a page behind another window draws no frames
    const frame = "new Promise((done) => { requestAnimationFrame(() => setTimeout(done, 0)); setTimeout(done, 200); })";
    // a page that is left behind ends the evaluation, which says the same
    await within(
      actionMs,
      this.#page.evaluate(frame).catch(() => {}),
    );
    await this.#page.waitForLoadState("load", { timeout: actionMs }).catch(told("the page did not load to its end"));
    if (this.#loading.size > 0) await this.#page.waitForEvent("load", { timeout: actionMs }).catch(() => {});
    this.#loading.clear();
  }

  /** What an expression is in the page, as JSON can say it. */
  async evaluate(expression: string): Promise<unknown> {
    this.#check();
    return within(this.#options.actionMs, this.#page.evaluate(expression));
  }

  async screenshot(): Promise<Uint8Array> {
    return this.#page.screenshot({ timeout: this.#options.actionMs });
  }

  async film(target: string | undefined): Promise<PageFrame> {
    const { actionMs } = this.#options;
    const box = target === undefined ? null : await within(actionMs, this.#boxOf(target));
    const [width, height] = [this.#page.viewportSize()?.width ?? 1, this.#page.viewportSize()?.height ?? 1];
    this.#filming ??= await this.#context.newCDPSession(this.#page);
    const clip = { x: 0, y: 0, width, height, scale: filmScale };
    const shot = this.#filming.send("Page.captureScreenshot", { format: "jpeg", quality: 50, clip });
    const image = `data:image/jpeg;base64,${(await within(actionMs, shot)).data}`;
    if (box === null) return { image };
    return { image, box: [box.x / width, box.y / height, box.width / width, box.height / height] };
  }

  async #boxOf(target: string): Promise<Box | null> {
    const found = this.#isPlain ? this.#document?.find(target) : undefined;
    if (found === undefined) return (await this.#find(target)).boundingBox();
    return (await this.#page.evaluate(boxScript(found.at))) as Box | null;
  }

  async close(): Promise<void> {
    // a renderer that does not answer is ended by the browser with its context
    await within(this.#options.actionMs, this.#context.close()).catch(() => {});
  }
}

/** The number of a document in a ref, so many later; the first one has none. */
function moved(frame: string, by: number): string {
  const number = Number(frame.slice(1)) + by;
  return number > 0 ? `f${number}` : "";
}
