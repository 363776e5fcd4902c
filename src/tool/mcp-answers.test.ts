import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { getRequestListener } from "@hono/node-server";
import {
  createMcpHandler,
  inputRequired,
  inputResponse,
  isLegacyRequest,
  Server,
  WebStandardStreamableHTTPServerTransport,
} from "@modelcontextprotocol/server";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { bounds } from "../bounds.ts";
import { callTool } from "./call-tool.ts";
import { fakeContext } from "./fake-context.ts";
import type { McpAskContext, McpElicitRequest, McpSampleRequest } from "./mcp-answers.ts";
import { type McpProtocol, type McpServer, mcpProtocols } from "./mcp-server.ts";
import { type McpTools, type McpToolsOptions, mcpTools } from "./mcp-tools.ts";
import { ToolError } from "./tool.ts";

const open: McpTools[] = [];
afterEach(async () => {
  for (const connection of open.splice(0)) await connection.close();
});

const program = (path: string, ...args: string[]) => ({ command: process.execPath, args: [path, ...args] });
const odd = program(fileURLToPath(new URL("./fixtures/odd-mcp-server.ts", import.meta.url)));
const everything = program(
  fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js")),
  "stdio",
);

async function connect(server: McpServer, options: McpToolsOptions): Promise<McpTools> {
  const connection = await mcpTools(server, options);
  open.push(connection);
  return connection;
}

const limits = { toolMs: 20_000, observationChars: 100_000 };
const call = ({ tools }: McpTools, name: string, args = {}, given: Partial<typeof limits> = {}) =>
  callTool(tools, { name, arguments: args }, fakeContext(undefined), { ...limits, ...given });
const observed = (outcome: string, observation: unknown) => ({ kind: "observed", record: { outcome, observation } });
const heard = (text: string) => observed("ok", expect.stringContaining(text));

describe.each(mcpProtocols)("what a server asks in the middle of a call, version %s", (protocol: McpProtocol) => {
  test("a sample and a user's answer are given by functions", async () => {
    const requests: (McpSampleRequest | McpElicitRequest)[] = [];
    const connection = await connect(odd, {
      protocol,
      sample: (request) => {
        requests.push(request);
        return { text: "eight", model: "spider-1", stopReason: "maxTokens" };
      },
      elicit: async (request) => {
        requests.push(request);
        return { action: "accept", content: { size: "L" } };
      },
    });
    expect(connection.protocol).toBe(protocol);
    expect(await call(connection, "sample")).toMatchObject(heard('"text":"eight"'));
    expect(await call(connection, "elicit")).toMatchObject(heard('{"size":"L","colour":"red"}'));
    expect(requests).toEqual([
      {
        messages: [
          { role: "system", content: "Answer with a number." },
          { role: "user", content: "How many legs has a spider?" },
        ],
        maxTokens: 5,
        temperature: 0,
      },
      { message: "Which size?", schema: expect.objectContaining({ required: ["size"] }) },
    ]);
  });

  test("a user who declines: the server is told, and the call goes on", async () => {
    const connection = await connect(odd, { protocol, elicit: () => ({ action: "decline" }) });
    expect(await call(connection, "elicit")).toMatchObject(heard('"action":"decline"'));
  });

  test("a call that is called off does not wait for the user", async () => {
    const asked = Promise.withResolvers<AbortSignal>();
    const connection = await connect(odd, {
      protocol,
      elicit: (_, { signal }) => {
        asked.resolve(signal);
        return new Promise(() => {});
      },
    });
    expect(await call(connection, "elicit", {}, { toolMs: 300 })).toMatchObject({ stop: "tool-timeout" });
    const signal = await asked.promise;
    await vi.waitFor(() => expect(signal.aborted).toBe(true), 5_000);
    expect(await call(connection, "pid")).toMatchObject(observed("ok", expect.stringMatching(/^\d+$/)));
  });

  test("nobody to ask: the server is told so, and nothing hangs", async () => {
    const connection = await connect(odd, { protocol });
    for (const name of ["sample", "elicit"]) {
      const result = await call(connection, name);
      expect(JSON.stringify(result)).toMatch(/capabilit|not support/i);
    }
    expect(await call(connection, "pid")).toMatchObject({ kind: "observed" });
  });

  test("a fault of the function ends the call as a fault of the tool, and is not told to the policy", async () => {
    const connection = await connect(odd, {
      protocol,
      sample: () => {
        throw new Error("the model is not loaded");
      },
    });
    expect(await call(connection, "sample")).toMatchObject({
      stop: "tool-crash",
      failure: expect.stringMatching(/mcp-answer-failed: got "the model is not loaded" from the function that answers/),
    });
    expect(await call(connection, "pid")).toMatchObject({ kind: "observed" });
  });

  test("so does what is no answer", async () => {
    const connection = await connect(odd, { protocol, sample: () => 8 as never, elicit: () => "yes" as never });
    expect(await call(connection, "sample")).toMatchObject({
      failure: expect.stringMatching(/mcp-answer-failed.*sample returned number/),
    });
    expect(await call(connection, "elicit")).toMatchObject({
      failure: expect.stringMatching(/mcp-answer-failed.*elicit returned .*yes/),
    });
  });

  test("a server that asks without end is refused, and given up", async () => {
    let samples = 0;
    const connection = await connect(odd, { protocol, sample: () => String(samples++) });
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    expect(await call(connection, "sample-for-ever")).toMatchObject({
      stop: "tool-crash",
      failure: expect.stringMatching(/mcp-call-failed/),
    });
    expect(samples).toBeLessThanOrEqual(bounds.mcpAsks);
    // the next call has a server to talk to, and asks of its own
    expect(await call(connection, "sample")).toMatchObject({ kind: "observed", record: { outcome: "ok" } });
    warn.mockRestore();
  });
});

test("a ToolError declines a sample, with the protocol's own code", async () => {
  const connection = await connect(everything, {
    sample: () => {
      throw new ToolError("not for this server");
    },
  });
  expect(connection.protocol).toBe("2025-11-25");
  expect(await call(connection, "trigger-sampling-request", { prompt: "hello" })).toMatchObject(
    observed("error", expect.stringContaining("not for this server")),
  );
});

test("the reference server samples and asks", async () => {
  const connection = await connect(everything, {
    sample: ({ messages, maxTokens }) => `${messages.at(-1)?.content} (${maxTokens})`,
    elicit: ({ schema }) => {
      const { properties } = schema as { properties: object };
      return { action: "accept", content: { name: "Ada", check: true, integer: Object.keys(properties).length } };
    },
  });
  expect(await call(connection, "trigger-sampling-request", { prompt: "tea?", maxTokens: 7 })).toMatchObject(
    heard("Resource trigger-sampling-request context: tea? (7)"),
  );
  const elicited = await call(connection, "trigger-elicitation-request");
  expect(elicited).toMatchObject(heard("Ada"));
  // the schema's own default
  expect(elicited).toMatchObject(heard("It was a dark and stormy night."));
});

// asks although the client said that it cannot be asked, and passes on what it is told
const rude = `
const say = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
let call;
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, method, params, error } = JSON.parse(line);
  if (method === "initialize") {
    const { protocolVersion } = params;
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "rude", version: "1" } } });
  } else if (method === "tools/list") say({ id, result: { tools: [{ name: "ask", inputSchema: { type: "object" } }] } });
  else if (method === "tools/call") {
    call = id;
    const messages = [{ role: "user", content: { type: "text", text: "?" } }];
    say({ id: "q", method: "sampling/createMessage", params: { messages, maxTokens: 1 } });
  } else if (id === "q") say({ id: call, result: { content: [{ type: "text", text: JSON.stringify(error) }] } });
});`;

test("a request that nobody answers is declined with the protocol's own error", async () => {
  const connection = await connect({ command: process.execPath, args: ["-e", rude] }, { protocol: "2025-11-25" });
  expect(await call(connection, "ask")).toMatchObject(heard('"code":-32601'));
});

/** Over HTTP. With a session it asks on the stream that belongs to no request, without one in its result. */
function askingHandler(): (request: Request) => Promise<Response> {
  const messages = [{ role: "user" as const, content: { type: "text" as const, text: "?" } }];
  const form = {
    message: "Which size?",
    requestedSchema: { type: "object" as const, properties: { size: { type: "string" as const } } },
  };
  const said = (value: unknown) => ({ content: [{ type: "text" as const, text: JSON.stringify(value) }] });
  const make = (isModern: boolean) => {
    const server = new Server({ name: "asking", version: "1" }, { capabilities: { tools: {} } });
    const asks = {
      sample: () => server.createMessage({ messages, maxTokens: 1 }),
      elicit: () => server.elicitInput({ mode: "form", ...form }),
    };
    const requests = {
      sample: inputRequired.createMessage({ messages, maxTokens: 1 }),
      elicit: inputRequired.elicit(form),
    };
    server.setRequestHandler("tools/list", () => ({
      tools: Object.keys(asks).map((name) => ({ name, inputSchema: { type: "object" as const } })),
    }));
    server.setRequestHandler("tools/call", async ({ params }, { mcpReq }) => {
      const name = params.name as keyof typeof asks;
      if (!isModern) return said(await asks[name]());
      const answer = inputResponse(mcpReq.inputResponses, "it");
      return answer.kind === "missing" ? inputRequired({ inputRequests: { it: requests[name] } }) : said(answer);
    });
    return server;
  };
  const modern = createMcpHandler(() => make(true), { legacy: "reject" });
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  return async (request) => {
    if (!(await isLegacyRequest(request))) return modern.fetch(request);
    const known = sessions.get(request.headers.get("mcp-session-id") ?? "");
    if (known !== undefined) return known.handleRequest(request);
    const transport: WebStandardStreamableHTTPServerTransport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await make(false).connect(transport);
    return transport.handleRequest(request);
  };
}

describe.each(mcpProtocols)("a server over HTTP, version %s", (protocol) => {
  let http: HttpServer;
  let url: string;
  beforeAll(async () => {
    http = createServer(getRequestListener(askingHandler())).listen(0, "127.0.0.1");
    await once(http, "listening");
    url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  });
  afterAll(() => {
    http.closeAllConnections();
    http.close();
  });

  test("asks too", async () => {
    const connection = await connect({ url }, { protocol, sample: () => "over HTTP" });
    expect(await call(connection, "sample")).toMatchObject(heard("over HTTP"));
  });

  test("is told when a user never answers, and the call goes on", async () => {
    const signals: AbortSignal[] = [];
    const elicit = (_: McpElicitRequest, { signal }: McpAskContext) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    const { tools, ...rest } = await connect({ url }, { protocol, timeoutMs: 3_000, elicit });
    const connection = { ...rest, tools: { elicit: { ...tools.elicit, timeoutMs: 20_000 } } };
    expect(await call(connection, "elicit")).toMatchObject(heard('"action":"cancel"'));
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });
});
