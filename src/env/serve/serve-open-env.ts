import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { bounds } from "../../bounds.ts";
import { errorText } from "../../errors.ts";
import { isLoopback, isOwnPage } from "../../http-origin.ts";
import type { Env } from "../env.ts";
import { checkOneRole, OpenEnvError, OpenEnvSession, openEnvSchemas } from "./open-env-session.ts";
import { isOpenEnvError, OpenEnvMcp, OpenEnvSocket } from "./open-env-socket.ts";
import { listen, readBody, refused } from "./serve-http.ts";
import type { ServedEnv, ServeHttpOptions } from "./served-env.ts";
import { acceptWebSocket, upgradeProblem } from "./web-socket.ts";

type Options = Required<ServeHttpOptions>;

/**
 * The environment as a server of OpenEnv: `/ws` with reset, step, state and close, `/mcp` with tools, `/schema`, `/metadata`, `/health`.
 * Each WebSocket is a session with an episode at a time.
 */
export async function serveOpenEnv(env: Env, options: Options): Promise<ServedEnv> {
  checkOneRole(env);
  const sockets = new Set<{ close(): Promise<void> }>();
  let tasks = 0;
  /** Episodes of single requests that are under way. */
  let single = 0;
  const nextIndex = () => tasks++;
  const mcp = new OpenEnvMcp(env, options);
  const hosts: string[] = [];
  const isAllowed = ({ headers }: IncomingMessage) =>
    isOwnPage((name) => headers[name] as string | undefined) &&
    (!isLoopback(options.host) || hosts.includes(headers.host ?? ""));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!isAllowed(request)) return sendJson(response, 403, { detail: "Another site's page asked" });
    const pathname = pathOf(request);
    const isEmpty = request.headers["content-length"] === "0";
    const body = isEmpty ? {} : await readBody(request, response);
    if (body === refused) return;
    if (pathname === "/mcp" && request.method === "POST") return sendJson(response, 200, await mcp.answer(body));
    const found = await endpoint(`${request.method} ${pathname}`, body);
    sendJson(response, found === undefined ? 404 : 200, found ?? { detail: "Not found: clients connect to /ws" });
  }

  /** Over HTTP alone each request has an episode of its own, as in OpenEnv. */
  async function endpoint(asked: string, body: unknown): Promise<object | undefined> {
    const fixed = fixedAnswers(env)[asked];
    if (fixed !== undefined) return fixed;
    if (asked !== "POST /reset" && asked !== "POST /step") return undefined;
    if (single >= options.maxSessions) {
      throw new OpenEnvError("CAPACITY_REACHED", `there are ${options.maxSessions} episodes already`);
    }
    single++;
    const session = new OpenEnvSession(env, nextIndex);
    try {
      const first = await session.reset(asked === "POST /reset" ? (body ?? {}) : {});
      const action = (body as { action?: unknown } | undefined)?.action;
      return asked === "POST /reset" ? first : await session.step(action);
    } finally {
      await session.close();
      single--;
    }
  }

  const timeouts = { headersTimeout: bounds.headerMs, requestTimeout: bounds.requestMs };
  const http = createServer(timeouts, (request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) return;
      const status = isOpenEnvError(error) ? (statuses[error.code] ?? 500) : 500;
      sendJson(response, status, { detail: errorText(error) });
    });
  });
  http.on("upgrade", (request, socket: Duplex, head) => {
    // Node has taken its own listener off
    socket.on("error", () => socket.destroy());
    const pathname = pathOf(request);
    const problem = isAllowed(request) ? upgradeProblem(request) : "another site's page asked";
    if (problem !== undefined || (pathname !== "/ws" && pathname !== "/mcp")) {
      socket.end(
        `HTTP/1.1 ${problem === undefined ? 404 : 400} ${problem ?? "not found"}\r\nconnection: close\r\n\r\n`,
      );
      return;
    }
    acceptWebSocket(request, socket, head, bounds.requestBytes, (connection) => {
      const session = new OpenEnvSession(env, nextIndex);
      const isFull = sockets.size >= options.maxSessions;
      const client = new OpenEnvSocket(session, connection, { isMcp: pathname === "/mcp", idleMs: options.idleMs });
      if (isFull) client.refuse(options.maxSessions);
      else sockets.add(client);
      return {
        onText: (text) => client.receive(text),
        onClose: () => void client.close().finally(() => sockets.delete(client)),
      };
    });
  });
  const port = await listen(http, options);
  const name = options.host.includes(":") ? `[${options.host}]` : options.host;
  hosts.push(`${name}:${port}`, `localhost:${port}`);

  const closed = Promise.withResolvers<void>();
  const close = async () => {
    http.close(() => closed.resolve());
    await Promise.all([...Array.from(sockets, (client) => client.close()), mcp.close()]);
    http.closeAllConnections();
    await closed.promise;
  };
  return { url: `http://${name}:${port}`, closed: closed.promise, close, [Symbol.asyncDispose]: close };
}

const statuses: Readonly<Record<string, number>> = { VALIDATION_ERROR: 422, CAPACITY_REACHED: 503 };

/** "" for what is no path: `new URL` would throw, and in a listener that ends the process. */
function pathOf({ url }: IncomingMessage): string {
  return URL.parse(url ?? "/", "http://localhost")?.pathname ?? "";
}

const paths = ["/reset", "/step", "/state", "/health", "/metadata", "/schema", "/mcp"];

function fixedAnswers(env: Env): Readonly<Record<string, object>> {
  const { name, description } = env;
  return {
    "GET /health": { status: "healthy" },
    "GET /metadata": { name, description },
    "GET /schema": openEnvSchemas(env),
    "GET /state": { episode_id: null, step_count: 0 },
    // what OpenEnv's validator reads: the version of its protocol, and which endpoints there are
    "GET /openapi.json": {
      openapi: "3.1.0",
      info: { title: name, description, version: "1.0.0" },
      paths: Object.fromEntries(paths.map((path) => [path, {}])),
    },
  };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
