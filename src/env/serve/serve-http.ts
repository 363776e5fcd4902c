import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { isTooDeep } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { errorText } from "../../errors.ts";
import { isLoopback, isOwnPage } from "../../http-origin.ts";
import { checkPort, listenError } from "../../listen-error.ts";
import type { Env } from "../env.ts";
import type { ServedEnv, ServeHttpOptions } from "./served-env.ts";
import { sessionServer } from "./session-server.ts";

interface Client {
  readonly transport: StreamableHTTPServerTransport;
  readonly idle: NodeJS.Timeout;
  close(): Promise<void>;
}

/** Many clients, each with its own session, over streamable HTTP at `/mcp`. */
export async function serveHttp(env: Env, options: Required<ServeHttpOptions>): Promise<ServedEnv> {
  const { StreamableHTTPServerTransport } = await import("@modelcontextprotocol/sdk/server/streamableHttp.js");
  const clients = new Map<string, Client>();
  const hosts: string[] = [];

  async function connect(): Promise<Client> {
    const { server, session } = await sessionServer(env);
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void clients.set(id, client),
      // a page in a browser must not reach this machine by a name that leads to it
      ...(isLoopback(options.host) && { enableDnsRebindingProtection: true, allowedHosts: hosts }),
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
    // its optional fields are not exact
    await server.connect(transport as Transport);
    return client;
  }

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers["mcp-session-id"];
    if (!isOwnPage((name) => request.headers[name] as string | undefined))
      return refuse(response, 403, "Another site's page asked");
    if (new URL(request.url ?? "/", "http://localhost").pathname !== "/mcp")
      return refuse(response, 404, "Not found: try /mcp");
    const body = await readBody(request, response);
    if (body === refused) return;
    if (id === undefined && clients.size >= options.maxSessions) return refuse(response, 503, "Too many sessions");
    const client = id === undefined ? await connect() : clients.get(String(id));
    if (client === undefined) return refuse(response, 404, "Session not found");
    client.idle.refresh();
    await client.transport.handleRequest(request, response, body);
    // what did not begin a session needs none
    if (client.transport.sessionId === undefined) await client.close();
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
    await Promise.all(Array.from(clients.values(), (client) => client.close()));
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

export function refuse(response: ServerResponse, status: number, message: string): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify({ jsonrpc: "2.0", error: { code: -32000, message }, id: null }));
}
