import { randomUUID } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  request as forward,
  type Server as HttpServer,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import {
  createMcpHandler,
  isLegacyRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { afterEach, expect, test } from "vitest";
import { callTool } from "./call-tool.ts";
import { fakeContext } from "./fake-context.ts";
import type { McpProtocol } from "./mcp-server.ts";
import { type McpTools, mcpTools } from "./mcp-tools.ts";

const limits = { toolMs: 10_000, observationChars: 1_000 };
const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const said = (text: string) => ({ content: [{ type: "text" as const, text }] });
const observed = (outcome: string, observation: unknown) => ({ kind: "observed", record: { outcome, observation } });
const call = ({ tools }: McpTools, name: string, toolMs = limits.toolMs) =>
  callTool(tools, { name, arguments: {} }, fakeContext(undefined), { ...limits, toolMs });

/** The SDK's server over HTTP, except that a call of `endless` is answered by a body that never ends. */
class OddHttpServer {
  readonly http: HttpServer;
  readonly sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  readonly asJson: boolean;
  sent = 0;
  openBodies = 0;
  isOver = false;

  constructor(asJson: boolean) {
    this.asJson = asJson;
    this.http = createServer((request, response) => void this.#answer(request, response));
  }

  async start(): Promise<string> {
    this.http.listen(0, "127.0.0.1");
    await once(this.http, "listening");
    closers.push(async () => {
      this.http.closeAllConnections();
      await new Promise((done) => this.http.close(done));
    });
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}/mcp?api_key=sk-very-secret-0123456789`;
  }

  async #answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const body = chunks.length === 0 ? undefined : JSON.parse(Buffer.concat(chunks).toString());
    if (body?.params?.name === "endless") return this.#endless(response);
    if (body?.params?.name === "half") return this.#half(response);
    if (incoming.method === "GET" && this.isOver) return void response.writeHead(410).end();
    await getRequestListener((request) => this.#reply(request, body))(incoming, response);
  }

  async #reply(request: Request, parsedBody: unknown): Promise<Response> {
    if (!(await isLegacyRequest(request, parsedBody))) return this.#modern.fetch(request, { parsedBody });
    const id = request.headers.get("mcp-session-id");
    const known = id === null ? await this.#session() : this.sessions.get(id);
    return known?.handleRequest(request, { parsedBody }) ?? new Response("Session not found", { status: 404 });
  }

  get #modern() {
    return createMcpHandler(() => this.#server(), { legacy: "reject", responseMode: this.asJson ? "json" : "sse" });
  }

  #server(): Server {
    const server = new Server({ name: "odd", version: "1" }, { capabilities: { tools: {} } });
    const names = ["endless", "half", "huge", "fine"];
    server.setRequestHandler("tools/list", () => ({
      tools: names.map((name) => ({ name, inputSchema: { type: "object" as const } })),
    }));
    server.setRequestHandler("tools/call", ({ params }) =>
      said(params.name === "huge" ? "x".repeat(11 * 2 ** 20) : "fine"),
    );
    return server;
  }

  async #session(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      enableJsonResponse: this.asJson,
      onsessioninitialized: (id) => void this.sessions.set(id, transport),
    });
    await this.#server().connect(transport);
    return transport;
  }

  /** Ends the stream after an event with a number, as if the rest were to come, and then has none. */
  #half(response: ServerResponse): void {
    this.isOver = true;
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end("id: 1\nretry: 10\ndata:\n\n");
  }

  #endless(response: ServerResponse): void {
    const type = this.asJson ? "application/json" : "text/event-stream";
    response.writeHead(200, { "content-type": type });
    this.openBodies++;
    // small enough to stay below the bound until the call has run out of time
    const timer = setInterval(() => {
      this.sent++;
      response.write(this.asJson ? " ".repeat(1024) : `: ${"x".repeat(1024)}\n`);
    }, 5);
    response.on("close", () => {
      this.openBodies--;
      clearInterval(timer);
    });
  }
}

async function connect(
  asJson: boolean,
  protocol: McpProtocol = "2025-11-25",
): Promise<{ odd: OddHttpServer; connection: McpTools }> {
  const odd = new OddHttpServer(asJson);
  const connection = await mcpTools({ url: await odd.start() }, { protocol });
  closers.push(() => connection.close());
  return { odd, connection };
}

const forms = [
  ["JSON", true, "2025-11-25"],
  ["events", false, "2025-11-25"],
  ["JSON", true, "2026-07-28"],
  ["events", false, "2026-07-28"],
] as const;

test.each(forms)(
  "a body without end is no longer read when its call is out of time (%s, %s, %s)",
  async (_, asJson, protocol) => {
    const { odd, connection } = await connect(asJson, protocol);
    expect(connection.protocol).toBe(protocol);
    expect(await call(connection, "endless", 200)).toMatchObject({ stop: "tool-timeout" });
    await expect.poll(() => odd.openBodies, { timeout: 5_000 }).toBe(0);
    expect(odd.sent).toBeGreaterThan(0);
    expect(await call(connection, "fine")).toMatchObject(observed("ok", "fine"));
  },
);

test.each(forms)("an answer that is too large costs its call (%s, %s, %s)", async (_, asJson, protocol) => {
  const { connection } = await connect(asJson, protocol);
  const [large, fine] = await Promise.all([call(connection, "huge"), call(connection, "fine")]);
  expect(large).toMatchObject(observed("error", "Error: the answer is larger than 10 MiB: ask for less"));
  expect(fine).toMatchObject(observed("ok", "fine"));
  expect(await call(connection, "fine")).toMatchObject(observed("ok", "fine"));
});

test("a stream that ends early, and whose rest is not to be had, ends its call", async () => {
  const { connection } = await connect(false);
  expect(await call(connection, "half")).toMatchObject({
    stop: "tool-crash",
    failure: expect.stringMatching(/mcp-call-failed.*the server ended the stream and did not send the rest \(410\)/),
  });
});

test("a server that forgot the session is given a new one, and the call is made again", async () => {
  const { odd, connection } = await connect(false);
  odd.sessions.clear();
  expect(await call(connection, "fine")).toMatchObject(observed("ok", "fine"));
  expect(odd.sessions.size).toBe(1);
});

test.each(["2025-11-25", "2026-07-28"] as const)(
  "failures do not tell the key in the address (%s)",
  async (protocol) => {
    const { odd, connection } = await connect(false, protocol);
    odd.http.closeAllConnections();
    await new Promise((done) => odd.http.close(done));
    const stopped = await call(connection, "fine");
    expect(stopped).toMatchObject({ stop: "tool-crash", failure: expect.stringContaining("api_key=[redacted]") });
    expect(JSON.stringify(stopped)).not.toContain("very-secret");
  },
);

test("a server that is down, and one that is no MCP server", async () => {
  const odd = new OddHttpServer(false);
  const url = await odd.start();
  odd.http.closeAllConnections();
  await new Promise((done) => odd.http.close(done));
  await expect(mcpTools({ url })).rejects.toThrow(/mcp-not-connected.*ECONNREFUSED/s);
  const other = createServer((_, response) => void response.writeHead(200).end("<html>hello</html>"));
  other.listen(0, "127.0.0.1");
  await once(other, "listening");
  closers.push(async () => void other.close());
  const page = `http://127.0.0.1:${(other.address() as AddressInfo).port}/`;
  await expect(mcpTools({ url: page })).rejects.toThrow(/mcp-not-connected/);
});

test("a redirect is followed on the same host, and no key is taken to another", async () => {
  const keys: unknown[] = [];
  const elsewhere = createServer(({ headers }, response) => {
    keys.push(headers["x-team"]);
    response.writeHead(404).end();
  });
  const real = new URL(await new OddHttpServer(true).start());
  let target = "";
  const front = createServer((request, response) => {
    if (request.url === "/mcp") return void response.writeHead(307, { location: target }).end();
    const own = { method: request.method!, headers: { ...request.headers, host: real.host } };
    request.pipe(
      forward(new URL(real.pathname, real), own, (answer) => {
        answer.pipe(response.writeHead(answer.statusCode!, answer.headers));
      }),
    );
  });
  const [here, there] = await Promise.all(
    [front, elsewhere].map(async (server) => {
      server.listen(0, "127.0.0.1");
      await once(server, "listening");
      closers.push(async () => {
        server.closeAllConnections();
        await new Promise((done) => server.close(done));
      });
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    }),
  );
  const connect = () => mcpTools({ url: `${here}/mcp`, headers: { "x-team": "hunter2hunter2" } });
  target = "/mcp/";
  const connection = await connect();
  expect(Object.keys(connection.tools).length).toBeGreaterThan(0);
  await connection.close();
  target = `${there}/mcp`;
  await expect(connect()).rejects.toThrow(/mcp-not-connected: got ".*sends to http:\/\/127\.0\.0\.1:\d+, another host/);
  expect(keys).toEqual([]);
});
