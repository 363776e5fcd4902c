import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { toHtml } from "./element.ts";
import type { SiteBackend } from "./site-backend.ts";
import { siteStyle } from "./sites/site.ts";

/** Answers with a whole page for an address; undefined where it has none. */
export type ExtraPages = (url: URL) => { readonly type: string; readonly body: string | Uint8Array } | undefined;

export interface SiteServer {
  /** What a browser takes as its proxy: everything it asks for comes here, and nothing goes further. */
  readonly proxy: string;
  close(): Promise<void>;
}

const maxBodyBytes = 1 << 20;

/**
 * The sites of one episode behind a proxy on loopback. A browser that has it as its proxy reaches `http://shop.test/` and nothing else:
 * other hosts, tunnels and sockets are refused here, whatever page, worker, redirect or download asks for them.
 */
export async function serveSites(answerTo: (request: SiteAsked) => SiteAnswer): Promise<SiteServer> {
  const server = createServer((request, response) => {
    const answer = async () => {
      const form = request.method === "POST" ? await bodyOf(request) : "";
      const { method = "GET", url: address = "", headers: asked } = request;
      const { status, headers, body } = answerTo({ method, address, form, isDocument: wantsDocument(asked.accept) });
      response.writeHead(status, headers).end(body);
    };
    answer().catch(() => response.destroy());
  });
  server.on("connect", (_request, socket) => {
    socket.end("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n");
  });
  server.on("upgrade", (_request, socket) => socket.destroy());
  server.on("clientError", (_error, socket) => socket.destroy());
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    proxy: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

export interface SiteAsked {
  readonly method: string;
  readonly address: string;
  /** What a form sends. */
  readonly form: string;
  /** Whether it is for a page itself, and not for what is on it. */
  readonly isDocument: boolean;
}

export const wantsDocument = (accept = ""): boolean => accept.startsWith("text/html");

export interface SiteAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array;
}

/** What the sites say to a request. */
export function answerRequest(backend: SiteBackend, extra: ExtraPages | undefined, request: SiteAsked): SiteAnswer {
  // `no-store`, so that going back asks again
  const headers = { "cache-control": "no-store" };
  const url = URL.parse(request.address);
  const method = request.method === "POST" ? "POST" : "GET";
  const given = url === null ? undefined : extra?.(url);
  if (given !== undefined)
    return { status: 200, headers: { ...headers, "content-type": given.type }, body: given.body };
  const form = new URLSearchParams(method === "POST" ? request.form : "");
  const answered = url === null ? undefined : backend.answer(method, url, form);
  if (answered === undefined) return { status: 403, headers, body: "This address is outside of the sites." };
  if (answered.kind === "redirect") return { status: 303, headers: { ...headers, location: answered.to }, body: "" };
  const type = { "content-type": "text/html; charset=utf-8" };
  return { status: 200, headers: { ...headers, ...type }, body: toHtml(answered.document, siteStyle) };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > maxBodyBytes) throw new Error("a form of more than a megabyte");
    parts.push(part);
  }
  return Buffer.concat(parts).toString("utf8");
}
