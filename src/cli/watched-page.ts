import { randomBytes } from "node:crypto";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Env } from "../env/env.ts";
import { usageError } from "./parse-options.ts";

/** What an environment with a browser has in its state. */
interface Pictured {
  screenshot(): Promise<Uint8Array>;
}

const boundary = "frame";
const document =
  '<!doctype html><meta charset="utf-8"><title>ludus play</title><style>body{margin:0;background:#1c2430}img{display:block;margin:16px auto;max-width:96vw;max-height:94vh;background:#fff}</style><img src="stream" alt="The page as it is now">';

/** Streams pictures of an episode's page to whoever opens an address on this machine. */
export class WatchedPage {
  readonly url: string;
  readonly #server: Server;
  readonly #viewers = new Set<ServerResponse>();
  #page: Pictured | undefined;
  #isBegun = false;
  #last: Buffer | undefined;

  private constructor(server: Server, url: string) {
    this.#server = server;
    this.url = url;
  }

  static async open(): Promise<WatchedPage> {
    // whoever else is on this machine does not know it
    const secret = `/${randomBytes(12).toString("hex")}/`;
    const server = createServer((request, response) => {
      if (request.url === `${secret}stream`) return watched.#stream(response);
      const isFound = request.url === secret;
      response.writeHead(isFound ? 200 : 404, { "content-type": "text/html; charset=utf-8" });
      response.end(isFound ? document : "");
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    const { port } = server.address() as AddressInfo;
    const watched = new WatchedPage(server, `http://127.0.0.1:${port}${secret}`);
    return watched;
  }

  /** The same environment, whose next episode is watched. */
  watching(env: Env): Env {
    const start: Env["start"] = async (context) => {
      const begun = await env.start(context);
      this.#page = picturedIn(begun.state);
      this.#isBegun = true;
      return begun;
    };
    return { ...env, start };
  }

  /** Sends the page as it is now. A page that cannot be pictured any more stays as it was. */
  async refresh(): Promise<void> {
    // an episode that could not begin says why itself
    if (this.#isBegun && this.#page === undefined) {
      throw usageError("nothing-to-watch", {
        got: "--watch with an environment whose episodes have no page in a browser",
        expected: '`browser`, or a file that exports browserEnv({ pages: "chromium", … })',
      });
    }
    const picture = await this.#page?.screenshot().catch(() => undefined);
    if (picture === undefined) return;
    this.#last = Buffer.from(picture);
    for (const viewer of this.#viewers) send(viewer, this.#last);
  }

  #stream(response: ServerResponse): void {
    const type = `multipart/x-mixed-replace; boundary=${boundary}`;
    response.writeHead(200, { "content-type": type, "cache-control": "no-store" });
    response.write(`--${boundary}\r\n`);
    this.#viewers.add(response);
    response.once("close", () => this.#viewers.delete(response));
    if (this.#last !== undefined) send(response, this.#last);
  }

  async close(): Promise<void> {
    for (const viewer of this.#viewers) viewer.end();
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** A part is shown once the next boundary is there. */
function send(viewer: ServerResponse, picture: Buffer): void {
  viewer.write(`content-type: image/png\r\ncontent-length: ${picture.length}\r\n\r\n`);
  viewer.write(picture);
  viewer.write(`\r\n--${boundary}\r\n`);
}

function picturedIn(state: unknown): Pictured | undefined {
  const page = typeof state === "object" && state !== null && "page" in state ? state.page : undefined;
  const isPictured =
    typeof page === "object" && page !== null && "screenshot" in page && typeof page.screenshot === "function";
  return isPictured ? (page as Pictured) : undefined;
}
