import { readFileSync } from "node:fs";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type { CallToolResult, Tool as McpTool } from "@modelcontextprotocol/sdk/types.js";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { redact } from "../redact.ts";
import { answerLost } from "./mcp-bounds.ts";
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
const leaveMs = 2_000;

/** A connection that is opened again, by the next call, when its server was lost. */
export async function connectMcp(server: McpServer, timeoutMs: number): Promise<McpConnection> {
  const open = () => openConnection(server, timeoutMs);
  return new LastingConnection(await open(), open);
}

async function openConnection(server: McpServer, timeoutMs: number): Promise<SdkConnection> {
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

class LastingConnection implements McpConnection {
  #current: SdkConnection;
  readonly #open: () => Promise<SdkConnection>;
  #opening: Promise<SdkConnection> | undefined;
  #isClosed = false;
  #timesLost = 0;

  constructor(first: SdkConnection, open: () => Promise<SdkConnection>) {
    this.#current = first;
    this.#open = open;
  }

  get name(): string {
    return this.#current.name;
  }

  listTools(timeoutMs: number): Promise<McpTool[]> {
    return this.#current.listTools(timeoutMs);
  }

  async callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CallToolResult> {
    const connection = await this.#usable();
    try {
      return await connection.callTool(name, args, signal);
    } catch (error) {
      if (!connection.forgotSession(error)) throw error;
      // refused before the call was looked at: it can be made again
      return await (await this.#usable()).callTool(name, args, signal);
    }
  }

  failure(code: string, cause: unknown): LudusError {
    return cause instanceof LudusError ? cause : this.#current.failure(code, cause);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    await this.#current.close();
  }

  async #usable(): Promise<SdkConnection> {
    if (this.#current.lost === undefined || this.#isClosed) return this.#current;
    this.#opening ??= this.#reopen(this.#current).finally(() => {
      this.#opening = undefined;
    });
    return this.#opening;
  }

  async #reopen(before: SdkConnection): Promise<SdkConnection> {
    const why = before.failure("mcp-server-lost", before.lost).message;
    await before.close();
    const connection = await this.#open();
    this.#current = connection;
    this.#timesLost++;
    // said the first, second, fourth, eighth ... time: a policy may do it in every episode
    if ((this.#timesLost & (this.#timesLost - 1)) === 0) {
      const times = this.#timesLost === 1 ? "" : ` (${this.#timesLost} times so far)`;
      process.emitWarning(`An MCP server was lost and connected again${times}: what it kept is gone. ${why}`, {
        type: "LudusWarning",
        code: "mcp-server-lost",
      });
    }
    return connection;
  }
}

class SdkConnection implements McpConnection {
  readonly #client: Client;
  readonly #schemas: Schemas;
  readonly #opened: McpTransport;
  readonly #gone = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;
  /** Why calls would fail from now on. */
  lost: unknown;

  constructor(client: Client, schemas: Schemas, opened: McpTransport) {
    this.#client = client;
    this.#schemas = schemas;
    this.#opened = opened;
    client.onclose = () => {
      this.lost ??= new Error("Connection closed");
      this.#gone.resolve();
    };
  }

  get name(): string {
    return this.#opened.name;
  }

  async listTools(timeoutMs: number): Promise<McpTool[]> {
    const tools: McpTool[] = [];
    const seen = new Set<string>();
    const signal = AbortSignal.timeout(Math.min(timeoutMs, noTimeoutMs));
    let [cursor, chars] = [undefined as string | undefined, 0];
    do {
      // not `client.listTools`: it prepares checks of results, and forgets them with every page
      const request = { method: "tools/list" as const, params: cursor === undefined ? {} : { cursor } };
      const options = { signal, timeout: noTimeoutMs };
      const page = await this.#client.request(request, this.#schemas.ListToolsResultSchema, options);
      tools.push(...page.tools);
      chars += JSON.stringify(page.tools).length;
      cursor = page.nextCursor;
      if (cursor !== undefined && seen.has(cursor)) throw new Error(`tools/list gave the cursor "${cursor}" twice`);
      if (cursor !== undefined) seen.add(cursor);
      checkListed({ pages: seen.size, tools: tools.length, chars });
    } while (cursor !== undefined);
    return tools;
  }

  async callTool(name: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<CallToolResult> {
    signal.throwIfAborted();
    // the SDK never stops listening to the signal it is given: one of our own for every call
    const own = new AbortController();
    const cancel = () => own.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const request = { method: "tools/call" as const, params: { name, arguments: { ...args } } };
      return await this.#client.request(request, this.#schemas.CallToolResultSchema, {
        signal: own.signal,
        timeout: noTimeoutMs,
      });
    } catch (error) {
      // over HTTP nothing closes: the next call finds out, in a session of its own, whether anyone is there
      if (isConnectionError(error)) this.lost ??= error;
      throw error;
    } finally {
      signal.removeEventListener("abort", cancel);
    }
  }

  /** A server that was started anew does not know the session. */
  forgotSession(error: unknown): boolean {
    if (this.#opened.transport.sessionId === undefined || ![400, 404].includes(Number(errorCode(error)))) return false;
    this.lost ??= error;
    return true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  failure(code: string, cause: unknown): LudusError {
    const { name, secrets } = this.#opened;
    const printed = redact(this.#opened.printed(), secrets);
    // `fetch failed` alone says nothing
    const reason = cause instanceof Error && cause.cause instanceof Error ? `: ${errorText(cause.cause)}` : "";
    // without a cause: its text may hold what is taken out here
    return new LudusError(code, {
      got: `"${redact(`${errorText(cause)}${reason}`, secrets).slice(0, bounds.failureText)}" from ${name}`,
      expected: "an answer",
      ...defined({ hint: printed !== "" ? `The server printed: ${printed}` : undefined }),
    });
  }

  async #end(): Promise<void> {
    await atMost(leaveMs, this.#opened.leave());
    await this.#client.close();
    // a child that had to be killed is gone a little later
    await atMost(leaveMs, this.#gone.promise);
  }
}

function checkListed({ pages, tools, chars }: { pages: number; tools: number; chars: number }): void {
  if (pages > bounds.mcpToolPages) throw new Error(`tools/list has more than ${bounds.mcpToolPages} pages`);
  if (tools > bounds.mcpTools) throw new Error(`tools/list has more than ${bounds.mcpTools} tools`);
  if (chars > bounds.mcpAnswerBytes) throw new Error(`tools/list is longer than ${bounds.mcpAnswerBytes} characters`);
}

/** Nobody answered, or the answer broke off. What the server answered is no such error. */
function isConnectionError(error: unknown): boolean {
  return errorCode(error) === answerLost || (error instanceof TypeError && error.message === "fetch failed");
}

/** The JSON-RPC code of an error the server answered with. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

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
