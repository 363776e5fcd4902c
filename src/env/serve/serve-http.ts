import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import type { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { isTooDeep } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { errorText } from "../../errors.ts";
import { isLoopback, isOwnPage } from "../../http-origin.ts";
import { checkPort, listenError } from "../../listen-error.ts";
import type { Env } from "../env.ts";
import { EnvEpisodes } from "./env-episodes.ts";
import { EnvSession } from "./env-session.ts";
import type { ServedEnv, ServeHttpOptions } from "./served-env.ts";
import { sessionServer } from "./session-server.ts";

interface Client {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly idle: NodeJS.Timeout;
  close(): Promise<void>;
}

/**
 * Many clients over streamable HTTP at `/mcp`. Those that begin with a handshake have a session each (2025-11-25 and before);
 * those whose every request says its version have none, and name their episodes (2026-07-28).
 */
export async function serveHttp(env: Env, options: Required<ServeHttpOptions>): Promise<ServedEnv> {
  const sdk = await import("@modelcontextprotocol/server");
  const clients = new Map<string, Client>();
  const episodes = new EnvEpisodes(env, options);
  const stateless = sdk.createMcpHandler(() => sessionServer(env, episodes, true), { legacy: "reject" });
  const hosts: string[] = [];

  async function connect(): Promise<Client> {
    const session = new EnvSession(env);
    const server = await sessionServer(env, session, false);
    const transport: WebStandardStreamableHTTPServerTransport = new sdk.WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void clients.set(id, client),
    });
    const close = async () => {
      clearTimeout(idle);
      clients.delete(transport.sessionId ?? "");
      await session.close();
      await server.close();
    };
    const idle = setTimeout(() => void close(), options.idleMs).unref();
    const client: Client = { transport, idle, close };
    server.onclose = () => void close();
    await server.connect(transport);
    return client;
  }

  async function reply(request: Request, parsedBody: unknown): Promise<Response> {
    if (!(await sdk.isLegacyRequest(request, parsedBody))) return stateless.fetch(request, { parsedBody });
    const id = request.headers.get("mcp-session-id");
    if (id === null && clients.size >= options.maxSessions) return refusal(503, "Too many sessions");
    const client = id === null ? await connect() : clients.get(id);
    if (client === undefined) return refusal(404, "Session not found");
    client.idle.refresh();
    const response = await client.transport.handleRequest(request, { parsedBody });
    // what did not begin a session needs none
    if (client.transport.sessionId === undefined) await client.close();
    return response;
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    // a page in a browser must not reach this machine by a name that leads to it
    if (isLoopback(options.host) && !hosts.includes(incoming.headers.host ?? ""))
      return refuse(response, 403, "Another host's name");
    if (!isOwnPage((name) => incoming.headers[name] as string | undefined))
      return refuse(response, 403, "Another site's page asked");
    if (new URL(incoming.url ?? "/", "http://localhost").pathname !== "/mcp")
      return refuse(response, 404, "Not found: try /mcp");
    const body = await readBody(incoming, response);
    if (body === refused) return;
    await getRequestListener((request) => reply(request, body), { overrideGlobalObjects: false })(incoming, response);
  }

  const timeouts = { headersTimeout: bounds.headerMs, requestTimeout: bounds.requestMs };
  const http = createServer(timeouts, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (!response.headersSent) refuse(response, 500, errorText(error));
    });
  });
  const port = await listen(http, options);
  const name = options.host.includes(":") ? `[${options.host}]` : options.host;
  hosts.push(`${name}:${port}`, `localhost:${port}`);

  const closed = Promise.withResolvers<void>();
  const close = async () => {
    http.close(() => closed.resolve());
    await Promise.all([
      ...Array.from(clients.values(), (client) => client.close()),
      episodes.close(),
      stateless.close(),
    ]);
    http.closeAllConnections();
    await closed.promise;
  };
  return { url: `http://${name}:${port}/mcp`, closed: closed.promise, close, [Symbol.asyncDispose]: close };
}

export async function listen(http: ReturnType<typeof createServer>, { port, host }: ServeHttpOptions): Promise<number> {
  checkPort(port);
  try {
    http.listen(port, host);
    await once(http, "listening");
  } catch (cause) {
    throw listenError(cause, host ?? "", port);
  }
  return (http.address() as AddressInfo).port;
}

export const refused = Symbol("refused");

/** The body as JSON, which the SDK would read without a bound; what is none is left to it to refuse. */
export async function readBody(request: IncomingMessage, response: ServerResponse): Promise<unknown> {
  if (request.method !== "POST") return undefined;
  const chunks: Buffer[] = [];
  let bytes = Number(request.headers["content-length"] ?? 0);
  if (bytes <= bounds.requestBytes) {
    bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > bounds.requestBytes) break;
      chunks.push(chunk);
    }
  }
  if (bytes > bounds.requestBytes) {
    response.setHeader("connection", "close");
    refuse(response, 413, `The request is larger than ${bounds.requestBytes} bytes`);
    return refused;
  }
  const text = Buffer.concat(chunks).toString("utf8");
  if (isTooDeep(text)) {
    refuse(response, 400, `The request is nested deeper than ${bounds.jsonDepth} levels`);
    return refused;
  }
  try {
    return JSON.parse(text);
  } catch {
    refuse(response, 400, "The request is no JSON");
    return refused;
  }
}

const refusalText = (message: string) => JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null });
const json = { "content-type": "application/json" };

export function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, json).end(refusalText(message));
}

const refusal = (status: number, message: string) => new Response(refusalText(message), { status, headers: json });
