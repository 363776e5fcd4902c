import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import type { McpServer } from "../../tool/mcp-server.ts";
import { mcpTools } from "../../tool/mcp-tools.ts";
import { ToolError } from "../../tool/tool.ts";
import type { ChromiumOptions } from "./chromium-options.ts";
import { ChromiumPage, type ChromiumPageOptions } from "./chromium-page.ts";
import { type ChromiumPool, chromiumPool } from "./chromium-pool.ts";
import { DomPage } from "./dom-page.ts";
import { type Browsers, KeptPage } from "./kept-page.ts";
import { KeptSites } from "./kept-sites.ts";
import { type PageAction, type PageDriver, type PageView, readViewText } from "./page-driver.ts";
import type { SiteBackend } from "./site-backend.ts";
import { answerRequest, type ExtraPages, type SiteAsked, serveSites } from "./site-server.ts";

/** Where the pages of episodes are. */
export interface PageSource {
  open(backend: SiteBackend, extra?: ExtraPages): Promise<PageDriver> | PageDriver;
}

export const domPages: PageSource = { open: (backend) => new DomPage(backend) };

const idleMs = 3000;

/** Pages in Chromium. Browsers are started with the first episode, and ended when none has been open for some seconds. */
export function chromiumPages(options: Partial<ChromiumOptions>, page: ChromiumPageOptions): PageSource {
  const pool = chromiumPool(options);
  let open = 0;
  let idle: NodeJS.Timeout | undefined;
  const release = () => {
    open--;
    if (open === 0) idle = setTimeout(() => void pool.close(), idleMs);
  };
  return {
    async open(backend, extra) {
      clearTimeout(idle);
      open++;
      try {
        return await openChromium(pool, page, backend, extra, release);
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

async function openChromium(
  pool: ChromiumPool,
  options: ChromiumPageOptions,
  backend: SiteBackend,
  extra: ExtraPages | undefined,
  release: () => void,
): Promise<PageDriver> {
  const sites = new KeptSites(backend, extra);
  const server = pool.hasNoNetwork ? undefined : await serveSites((request) => sites.answer(request));
  const inside = server === undefined ? (request: SiteAsked) => sites.answer(request) : undefined;
  const openIn = async (open: ChromiumPool["open"], from: ChromiumPageOptions["from"]) =>
    ChromiumPage.open(await open(server?.proxy), { ...options, ...defined({ from }) }, inside);
  const browsers: Browsers = {
    shared: (from) => openIn(pool.open, from),
    alone: (use, signal) => pool.alone((open) => use((from) => openIn(open, from)), signal),
  };
  const close = async () => {
    await server?.close();
    release();
  };
  try {
    return new KeptPage(await browsers.shared(), browsers, sites, close);
  } catch (error) {
    await server?.close();
    throw error;
  }
}

/**
 * Pages that a server of `@playwright/mcp` drives, as it is published: one server for each episode, whose browser has the sites as its
 * proxy. What is learned with the other pages is used here, or measured.
 */
export function mcpPages(server: McpServer): PageSource {
  if (!("command" in server)) {
    throw new LudusError("bad-option", {
      got: "an MCP server that is running already",
      expected: "a command that starts one, as each episode has its own",
    });
  }
  return {
    async open(backend, extra) {
      const sites = await serveSites((request) => answerRequest(backend, extra, request));
      const args = [...(server.args ?? []), "--proxy-server", sites.proxy, "--codegen", "none"];
      try {
        // what the server speaks, so that it is not started once more for each episode to find out
        const client = await mcpTools({ ...server, args }, { protocol: "2025-11-25" });
        const close = async () => {
          await client.close();
          await sites.close();
        };
        return new McpPage(client.tools, close);
      } catch (error) {
        await sites.close();
        throw error;
      }
    },
  };
}

type McpClient = Awaited<ReturnType<typeof mcpTools>>;

class McpPage implements PageDriver {
  readonly #tools: McpClient["tools"];
  readonly close: () => Promise<void>;

  constructor(tools: McpClient["tools"], close: () => Promise<void>) {
    this.#tools = tools;
    this.close = close;
  }

  async act({ tool, ...input }: PageAction, signal: AbortSignal): Promise<PageView> {
    // an action is answered with the name of a file, so the server is asked what there is now
    if (tool === "browser_navigate_forward") {
      await this.#call("browser_evaluate", { function: "() => history.forward()" }, signal);
    } else if (tool !== "browser_snapshot") await this.#call(tool, input, signal);
    return readViewText(await this.#call("browser_snapshot", {}, signal));
  }

  async #call(name: string, input: object, signal: AbortSignal): Promise<string> {
    const tool = this.#tools[name];
    if (tool === undefined) throw new ToolError(`### Error\nError: the server has no tool ${name}.`);
    const unused = () => {
      throw new LudusError("bad-option", { got: "a box", expected: "none for tools of a server" });
    };
    const context = { state: undefined, rng: noRandom, signal, box: unused, reward() {}, finish() {} };
    return String((await tool.run(input, context)) ?? "");
  }
}

const noRandom = { next: () => 0, normal: () => 0, integer: () => 0 };
