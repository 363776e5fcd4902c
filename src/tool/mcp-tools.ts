/// <reference lib="esnext.disposable" preserve="true" />
// users may compile against a library that does not know `AsyncDisposable`

import type { Tool as McpTool } from "@modelcontextprotocol/client";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import { nearest } from "../nearest.ts";
import type { McpAnswers } from "./mcp-answers.ts";
import { AnswerTooLarge, answerTooLarge } from "./mcp-bounds.ts";
import { connectMcp, errorCode, type McpConnection } from "./mcp-connection.ts";
import { mcpText } from "./mcp-content.ts";
import type { McpContext } from "./mcp-context.ts";
import { checkContextNames, contextTools, mcpContext, plainMessage } from "./mcp-context-tools.ts";
import { type McpProtocol, type McpServer, mcpProtocols } from "./mcp-server.ts";
import { checkParameters } from "./parameters-of.ts";
import { type Tool, ToolError } from "./tool.ts";

export interface McpToolsOptions extends McpAnswers {
  /** Names of the tools to take; all of them otherwise. */
  only?: readonly string[];
  /**
   * For connecting, for each call, and for each answer of `sample` and `elicit`; otherwise a minute, and the environment's
   * `toolMs` for calls.
   */
  timeoutMs?: number;
  /**
   * The version to speak. Where absent, the newest that the server speaks: a program is started once more to find out, for a
   * moment, which "2025-11-25" spares.
   */
  protocol?: McpProtocol;
  /** Adds the tools `list_resources` and `read_resource`. */
  resources?: boolean;
  /** Adds the tools `list_prompts` and `get_prompt`. */
  prompts?: boolean;
}

export interface McpTools extends McpContext, AsyncDisposable {
  readonly tools: Readonly<Record<string, Tool>>;
  /** The version that is spoken, such as "2026-07-28". */
  readonly protocol: string;
  /** Ends the connection, and the server where it was started here. */
  close(): Promise<void>;
}

const knownMcpToolsOptions: KnownOptions<McpToolsOptions> = {
  only: true,
  timeoutMs: true,
  protocol: true,
  resources: true,
  prompts: true,
  sample: true,
  elicit: true,
};
const knownMcpServer: KnownOptions<McpServer> = {
  command: true,
  args: true,
  env: true,
  cwd: true,
  url: true,
  headers: true,
};
const defaultConnectMs = 60_000;

/**
 * The tools of an MCP server, started here or reached over HTTP:
 *
 *     const files = await mcpTools({ command: "npx", args: ["@modelcontextprotocol/server-filesystem", folder] });
 *     const env = defineEnv({ tools: { ...files.tools }, ... });
 *     await files.close();
 *
 * All episodes share the server, and so whatever it keeps. Arguments are checked by it; what it calls an error is told to
 * the policy. A server that breaks the protocol or dies is a fault of the tool.
 */
export async function mcpTools(server: McpServer, options: McpToolsOptions = {}): Promise<McpTools> {
  refuseUnknownOptions("mcpTools", server, knownMcpServer);
  refuseUnknownOptions("mcpTools", options, knownMcpToolsOptions);
  const { only, timeoutMs, protocol, resources = false, prompts = false, sample, elicit } = options;
  if (protocol !== undefined) refuseOtherValue("protocol", protocol, mcpProtocols);
  const connectMs = timeoutMs ?? defaultConnectMs;
  const answers = defined({ sample, elicit });
  const connection = await connectMcp(server, { timeoutMs: connectMs, protocol, answers });
  const close = () => connection.close();
  try {
    const listed = await listTools(connection, connectMs);
    const own = choose(listed, only, connection.name).map((spec): [string, Tool] => [
      spec.name,
      toTool(connection, spec, timeoutMs),
    ]);
    const added = contextTools(connection, { resources, prompts, ...defined({ timeoutMs }) });
    checkContextNames(
      own.map(([name]) => name),
      added,
      connection.name,
    );
    const tools = { ...Object.fromEntries(own), ...added };
    const context = mcpContext(connection, connectMs);
    return { tools, protocol: connection.protocol, ...context, close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function listTools(connection: McpConnection, timeoutMs: number): Promise<McpTool[]> {
  const signal = AbortSignal.timeout(Math.min(timeoutMs, 2 ** 31 - 1));
  return connection.list("tools/list", signal).catch((cause: unknown) => {
    throw connection.failure("mcp-not-listed", cause);
  });
}

function choose(listed: readonly McpTool[], only: readonly string[] | undefined, server: string): McpTool[] {
  // such a tool answers by and by, to a client that asks again and again
  const callable = listed.filter(({ execution }) => execution?.taskSupport !== "required");
  if (only === undefined) return callable;
  return only.map((name) => {
    const found = callable.find((tool) => tool.name === name);
    if (found !== undefined) return found;
    const names = callable.map((tool) => tool.name);
    const meant = nearest(name, names);
    throw new LudusError("unknown-mcp-tool", {
      got: `"${name}"`,
      expected: `one of ${names.join(", ") || "no tools at all"}, which ${server} offers`,
      ...defined({ hint: meant !== undefined ? `Did you mean "${meant}"?` : undefined }),
    });
  });
}

function toTool(connection: McpConnection, spec: McpTool, timeoutMs?: number): Tool {
  const { name, description, inputSchema } = spec;
  // the client copies arguments into headers where the tool says so; what the server returns is taken as it is
  const { outputSchema: _, ...toolDefinition } = spec;
  const call = (input: unknown, signal: AbortSignal) =>
    connection.send(
      (client, options) =>
        client.callTool({ name, arguments: isRecord(input) ? { ...input } : {} }, { ...options, toolDefinition }),
      signal,
    );
  return {
    spec: { description: description ?? "", parameters: checkParameters(inputSchema) },
    check: (input) =>
      isRecord(input) ? { ok: true, value: input } : { ok: false, problem: "expected an object of arguments" },
    run: (input, { signal }) => run(connection, name, () => call(input, signal)),
    ...defined({ timeoutMs }),
  };
}

/** Servers before 2025-11 answer wrong arguments with this code of JSON-RPC, later ones with `isError`. */
function isWrongArguments(error: unknown): error is Error {
  // the SDK's servers use the code also where the tool's own result is not one
  return error instanceof Error && errorCode(error) === -32602 && !error.message.includes("Invalid tools/call result");
}

async function run(connection: McpConnection, name: string, call: () => Promise<Parameters<typeof mcpText>[0]>) {
  const result = await call().catch((error: unknown) => {
    if (isWrongArguments(error)) throw new ToolError(plainMessage(error.message));
    if (errorCode(error) === answerTooLarge) throw new ToolError(`${new AnswerTooLarge().message}: ask for less`);
    throw connection.failure("mcp-call-failed", error);
  });
  const text = mcpText(result);
  if (result.isError) throw new ToolError(plainMessage(text) || `"${name}" failed and did not say why`);
  return text === "" ? undefined : text;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
