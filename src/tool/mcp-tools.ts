/// <reference lib="esnext.disposable" preserve="true" />
// users may compile against a library that does not know `AsyncDisposable`

import type { Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { nearest } from "../nearest.ts";
import { AnswerTooLarge, answerTooLarge } from "./mcp-bounds.ts";
import { connectMcp, errorCode, type McpConnection } from "./mcp-connection.ts";
import { mcpText } from "./mcp-content.ts";
import type { McpServer } from "./mcp-server.ts";
import { checkParameters } from "./parameters-of.ts";
import { type Tool, ToolError } from "./tool.ts";

export interface McpToolsOptions {
  /** Names of the tools to take; all of them otherwise. */
  only?: readonly string[];
  /** For connecting and for each call; otherwise a minute for the first and the environment's `toolMs` for the others. */
  timeoutMs?: number;
}

export interface McpTools extends AsyncDisposable {
  readonly tools: Readonly<Record<string, Tool>>;
  /** Ends the connection, and the server where it was started here. */
  close(): Promise<void>;
}

const knownMcpToolsOptions: KnownOptions<McpToolsOptions> = { only: true, timeoutMs: true };
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
  const connectMs = options.timeoutMs ?? defaultConnectMs;
  const connection = await connectMcp(server, connectMs);
  const close = () => connection.close();
  try {
    const listed = await connection.listTools(connectMs).catch((cause: unknown) => {
      throw connection.failure("mcp-not-listed", cause);
    });
    const tools = choose(listed, options.only, connection.name).map((spec) => [
      spec.name,
      toTool(connection, spec, options.timeoutMs),
    ]);
    return { tools: Object.fromEntries(tools), close, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
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

function toTool(connection: McpConnection, { name, description, inputSchema }: McpTool, timeoutMs?: number): Tool {
  return {
    spec: { description: description ?? "", parameters: checkParameters(inputSchema) },
    check: (input) =>
      isRecord(input) ? { ok: true, value: input } : { ok: false, problem: "expected an object of arguments" },
    run: (input, { signal }) => run(connection, name, isRecord(input) ? input : {}, signal),
    ...defined({ timeoutMs }),
  };
}

/** Servers before 2025-11 answer wrong arguments with this code of JSON-RPC, later ones with `isError`. */
function isWrongArguments(error: unknown): error is Error {
  // the SDK's servers use the code also where the tool's own result is not one
  return error instanceof Error && errorCode(error) === -32602 && !error.message.includes("Invalid tools/call result");
}

async function run(connection: McpConnection, name: string, input: Record<string, unknown>, signal: AbortSignal) {
  const result = await connection.callTool(name, input, signal).catch((error: unknown) => {
    if (isWrongArguments(error)) throw new ToolError(plainMessage(error.message));
    if (errorCode(error) === answerTooLarge) throw new ToolError(`${new AnswerTooLarge().message}: ask for less`);
    throw connection.failure("mcp-call-failed", error);
  });
  const text = mcpText(result);
  if (result.isError) throw new ToolError(plainMessage(text) || `"${name}" failed and did not say why`);
  return text === "" ? undefined : text;
}

/** The SDK's servers and its client put the code in front, which tells a policy nothing. */
const plainMessage = (message: string) => message.replace(/^(MCP error -?\d+: )+/, "");

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
