import { readFileSync } from "node:fs";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CallToolResult, Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import type { McpServer } from "./mcp-server.ts";
import { type McpTransport, openTransport } from "./mcp-transport.ts";

export interface McpConnection {
  /** What errors call the server. */
  readonly name: string;
  listTools(timeoutMs: number): Promise<McpTool[]>;
  /** Rejects when the signal is aborted, which the server is told, and when the server is gone. */
  callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CallToolResult>;
  /** An error that says what happened, where, and what the server printed. */
  failure(code: string, cause: unknown): LudusError;
  close(): Promise<void>;
}

type Schemas = Pick<
  typeof import("@modelcontextprotocol/sdk/types.js"),
  "CallToolResultSchema" | "ListToolsResultSchema"
>;

// calls are timed by their signal
const noTimeoutMs = 2 ** 31 - 1;
const probeMs = 5_000;
const leaveMs = 2_000;

export async function connectMcp(server: McpServer, timeoutMs: number): Promise<McpConnection> {
  const opened = await openTransport(server);
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const schemas = await import("@modelcontextprotocol/sdk/types.js");
  const client = new Client({ name: "ludus", version: packageVersion() });
  const connection = new SdkConnection(client, schemas, opened);
  try {
    await client.connect(opened.transport, { timeout: timeoutMs });
  } catch (cause) {
    await connection.close();
    throw connection.failure("mcp-not-connected", cause);
  }
  return connection;
}

class SdkConnection implements McpConnection {
  readonly #client: Client;
  readonly #schemas: Schemas;
  readonly #opened: McpTransport;
  readonly #gone = Promise.withResolvers<void>();
  /** Calls under way; aborting one ends it. */
  readonly #pending = new Set<AbortController>();
  #isProbing = false;
  #closing: Promise<void> | undefined;

  constructor(client: Client, schemas: Schemas, opened: McpTransport) {
    this.#client = client;
    this.#schemas = schemas;
    this.#opened = opened;
    client.onclose = () => this.#gone.resolve();
    client.onerror = () => void this.#probe();
  }

  get name(): string {
    return this.#opened.name;
  }

  async listTools(timeoutMs: number): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    do {
      // not `client.listTools`: it prepares checks of results, and forgets them with every page
      const request = { method: "tools/list" as const, params: cursor === undefined ? {} : { cursor } };
      const page = await this.#client.request(request, this.#schemas.ListToolsResultSchema, { timeout: timeoutMs });
      tools.push(...page.tools);
      cursor = page.nextCursor;
      if (cursor !== undefined && seen.has(cursor)) throw new Error(`tools/list gave the cursor "${cursor}" twice`);
      if (cursor !== undefined) seen.add(cursor);
    } while (cursor !== undefined);
    return tools;
  }

  async callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CallToolResult> {
    signal.throwIfAborted();
    // the SDK never stops listening to the signal it is given: one of our own for every call
    const own = new AbortController();
    const cancel = () => own.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    this.#pending.add(own);
    try {
      const request = { method: "tools/call" as const, params: { name, arguments: { ...args } } };
      return await this.#client.request(request, this.#schemas.CallToolResultSchema, {
        signal: own.signal,
        timeout: noTimeoutMs,
      });
    } finally {
      this.#pending.delete(own);
      signal.removeEventListener("abort", cancel);
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  failure(code: string, cause: unknown): LudusError {
    const printed = this.#opened.printed();
    return new LudusError(code, {
      got: `"${messageOf(cause)}" from ${this.name}`,
      expected: "an answer",
      ...defined({ hint: printed !== "" ? `The server printed: ${printed}` : undefined }),
      cause,
    });
  }

  /** Over HTTP a call whose stream broke would wait for ever: ask whether anyone is there, and end the calls if not. */
  async #probe(): Promise<void> {
    if (this.#isProbing || this.#pending.size === 0 || this.#closing !== undefined) return;
    this.#isProbing = true;
    try {
      await this.#client.ping({ timeout: probeMs });
    } catch (error) {
      if (!isAnswer(error)) this.#abortPending(new Error(`the connection was lost (${messageOf(error)})`));
    } finally {
      this.#isProbing = false;
    }
  }

  #abortPending(reason: Error): void {
    const pending = [...this.#pending];
    this.#pending.clear();
    for (const call of pending) call.abort(reason);
  }

  async #end(): Promise<void> {
    await atMost(leaveMs, this.#opened.leave());
    await this.#client.close();
    // a child that had to be killed is gone a little later
    await atMost(leaveMs, this.#gone.promise);
  }
}

/** A server that answers "no such method" is there. */
function isAnswer(error: unknown): boolean {
  return errorCode(error) === -32601;
}

/** The JSON-RPC code of an error the server answered with. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

const messageOf = (error: unknown) => errorText(error);

/** Waits, but not for ever, and not for success. */
async function atMost(timeoutMs: number, promise: Promise<unknown>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, timeoutMs);
  await Promise.race([promise.catch(() => {}), late.promise]);
  clearTimeout(timer);
}

function packageVersion(): string {
  // the same number of folders up from src/tool and from dist/tool
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  return String(version);
}
