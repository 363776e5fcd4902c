import { readFileSync } from "node:fs";
import type {
  Client,
  Prompt as McpPrompt,
  Resource as McpResource,
  ResourceTemplateType as McpResourceTemplate,
  Tool as McpTool,
  PriorDiscovery,
  RequestOptions,
} from "@modelcontextprotocol/client";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { errorText, LudusError } from "../errors.ts";
import { redact } from "../redact.ts";
import type { McpAnswers } from "./mcp-answers.ts";
import { capabilitiesOf, McpAsks } from "./mcp-asks.ts";
import { answerLost } from "./mcp-bounds.ts";
import type { McpProtocol, McpServer } from "./mcp-server.ts";
import { type McpTransport, openTransport } from "./mcp-transport.ts";

/** What servers list, page by page, and the field of a page that has it. */
export interface McpListed {
  "tools/list": McpTool;
  "resources/list": McpResource;
  "resources/templates/list": McpResourceTemplate;
  "prompts/list": McpPrompt;
}
const listFields = {
  "tools/list": "tools",
  "resources/list": "resources",
  "resources/templates/list": "resourceTemplates",
  "prompts/list": "prompts",
} as const;

export type McpRequest<Value> = (client: Client, options: RequestOptions) => Promise<Value>;

export interface McpConnection {
  /** What errors call the server. */
  readonly name: string;
  /** The version that both speak, such as "2025-11-25". */
  readonly protocol: string;
  /** Everything of a kind; nothing where the server does not say that it has any. */
  list<Method extends keyof McpListed>(method: Method, signal: AbortSignal): Promise<McpListed[Method][]>;
  /** Rejects when the signal is aborted, which the server is told, and when the server is gone. */
  send<Value>(request: McpRequest<Value>, signal: AbortSignal): Promise<Value>;
  /** An error that says what happened, where, and what the server printed. */
  failure(code: string, cause: unknown): LudusError;
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly timeoutMs: number;
  readonly protocol: McpProtocol | undefined;
  readonly answers: McpAnswers;
}

// requests are timed by their signal
const noTimeoutMs = 2 ** 31 - 1;
const leaveMs = 2_000;

/** A connection that is opened again, by the next call, when its server was lost. */
export async function connectMcp(server: McpServer, options: ConnectOptions): Promise<McpConnection> {
  const open = (prior?: PriorDiscovery) => openConnection(server, options, prior);
  return new LastingConnection(await open(), open);
}

async function openConnection(
  server: McpServer,
  { timeoutMs, protocol, answers }: ConnectOptions,
  prior: PriorDiscovery | undefined,
): Promise<SdkConnection> {
  const opened = await openTransport(server, answers.sample !== undefined || answers.elicit !== undefined);
  const { Client } = await import("@modelcontextprotocol/client");
  const client = new Client(
    { name: "ludus", version: packageVersion() },
    {
      capabilities: capabilitiesOf(answers),
      versionNegotiation: { mode: negotiationOf(protocol) },
      inputRequired: { maxRounds: bounds.mcpAsks },
    },
  );
  const connection = new SdkConnection(client, opened, answers, timeoutMs);
  try {
    // a program that is started again speaks what it spoke; a server elsewhere may be another one by now
    const known = "command" in server ? prior : undefined;
    await client.connect(opened.transport, { timeout: timeoutMs, ...defined({ prior: known }) });
    connection.remember();
  } catch (cause) {
    await connection.close();
    const isOtherVersion = protocol !== undefined && errorCode(cause) === "ERA_NEGOTIATION_FAILED";
    throw connection.failure(
      "mcp-not-connected",
      cause,
      isOtherVersion ? "Leave `protocol` out to take what the server speaks." : undefined,
    );
  }
  return connection;
}

function negotiationOf(protocol: McpProtocol | undefined): "auto" | "legacy" | { pin: string } {
  if (protocol === undefined) return "auto";
  return protocol === "2025-11-25" ? "legacy" : { pin: protocol };
}

class LastingConnection implements McpConnection {
  #current: SdkConnection;
  readonly #open: (prior?: PriorDiscovery) => Promise<SdkConnection>;
  #opening: Promise<SdkConnection> | undefined;
  #isClosed = false;
  #timesLost = 0;

  constructor(first: SdkConnection, open: (prior?: PriorDiscovery) => Promise<SdkConnection>) {
    this.#current = first;
    this.#open = open;
  }

  get name(): string {
    return this.#current.name;
  }

  get protocol(): string {
    return this.#current.protocol;
  }

  async list<Method extends keyof McpListed>(method: Method, signal: AbortSignal): Promise<McpListed[Method][]> {
    return this.#again((connection) => connection.list(method, signal));
  }

  send<Value>(request: McpRequest<Value>, signal: AbortSignal): Promise<Value> {
    return this.#again((connection) => connection.send(request, signal));
  }

  failure(code: string, cause: unknown): LudusError {
    return cause instanceof LudusError ? cause : this.#current.failure(code, cause);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#opening?.catch(() => {});
    await this.#current.close();
  }

  async #again<Value>(use: (connection: SdkConnection) => Promise<Value>): Promise<Value> {
    const connection = await this.#usable();
    try {
      return await use(connection);
    } catch (error) {
      if (!connection.forgotSession(error)) throw error;
      // refused before the call was looked at: it can be made again
      return await use(await this.#usable());
    }
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
    const connection = await this.#open(before.prior);
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
  readonly #opened: McpTransport;
  readonly #asks: McpAsks;
  readonly #gone = Promise.withResolvers<void>();
  #closing: Promise<void> | undefined;
  prior: PriorDiscovery | undefined;
  /** Why calls would fail from now on. */
  lost: unknown;

  constructor(client: Client, opened: McpTransport, answers: McpAnswers, timeoutMs: number) {
    this.#client = client;
    this.#opened = opened;
    this.#asks = new McpAsks(answers, Math.min(timeoutMs, noTimeoutMs), (why) => {
      this.lost ??= why;
      void this.close();
    });
    this.#asks.register(client);
    client.onclose = () => {
      this.lost ??= new Error("Connection closed");
      this.#gone.resolve();
    };
  }

  get name(): string {
    return this.#opened.name;
  }

  get protocol(): string {
    return this.#client.getNegotiatedProtocolVersion() ?? "none";
  }

  /** Keeps what the server was found to speak: the client forgets it when it is closed. */
  remember(): void {
    const discover = this.#client.getDiscoverResult();
    this.prior = discover === undefined ? { kind: "legacy" } : { kind: "modern", discover };
  }

  async list<Method extends keyof McpListed>(method: Method, signal: AbortSignal): Promise<McpListed[Method][]> {
    const kind = method.split("/")[0] as "tools" | "resources" | "prompts";
    if (this.#client.getServerCapabilities()?.[kind] === undefined) return [];
    const items: McpListed[Method][] = [];
    const seen = new Set<string>();
    let [cursor, chars] = [undefined as string | undefined, 0];
    do {
      // not the client's own `listTools` and so on: they keep all pages before anyone has counted
      const params = cursor === undefined ? {} : { cursor };
      const page = await this.send((client, options) => client.request({ method, params }, options), signal);
      const found = (page as Partial<Record<string, McpListed[Method][]>>)[listFields[method]] ?? [];
      items.push(...found);
      chars += JSON.stringify(found).length;
      cursor = (page as { nextCursor?: string }).nextCursor;
      if (cursor !== undefined && seen.has(cursor)) throw new Error(`${method} gave the cursor "${cursor}" twice`);
      if (cursor !== undefined) seen.add(cursor);
      checkListed(method, { pages: seen.size, items: items.length, chars });
    } while (cursor !== undefined);
    return method === "tools/list" ? (withoutBadHeaders(this.#client, items as McpTool[]) as typeof items) : items;
  }

  async send<Value>(request: McpRequest<Value>, signal: AbortSignal): Promise<Value> {
    signal.throwIfAborted();
    // the SDK never stops listening to the signal it is given: one of our own for every call
    const own = new AbortController();
    const cancel = () => own.abort(signal.reason);
    signal.addEventListener("abort", cancel, { once: true });
    try {
      const options = { signal: own.signal, timeout: noTimeoutMs };
      return await this.#asks.during(() => request(this.#client, options));
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
    if (this.#opened.transport.sessionId === undefined || ![400, 404].includes(httpStatus(error) ?? 0)) return false;
    this.lost ??= error;
    return true;
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  failure(code: string, cause: unknown, remedy?: string): LudusError {
    const { name, secrets } = this.#opened;
    const printed = redact(this.#opened.printed(), secrets);
    const hints = [...(remedy ? [remedy] : []), ...(printed === "" ? [] : [`The server printed: ${printed}`])];
    // without a cause: its text may hold what is taken out here
    return new LudusError(code, {
      got: `"${redact(reasons(cause), secrets).slice(0, bounds.failureText)}" from ${name}`,
      expected: "an answer",
      ...defined({ hint: hints.length > 0 ? hints.join(" ") : undefined }),
    });
  }

  async #end(): Promise<void> {
    const wasConnected = this.#client.transport !== undefined;
    await atMost(leaveMs, this.#opened.leave());
    await this.#client.close();
    // a child that had to be killed is gone a little later
    if (wasConnected) await atMost(leaveMs, this.#gone.promise);
  }
}

/** `fetch failed` alone says nothing. */
function reasons(cause: unknown): string {
  const texts: string[] = [];
  for (let error = cause; texts.length < 3 && error !== undefined; ) {
    texts.push(errorText(error));
    error = error instanceof Error ? error.cause : undefined;
  }
  return texts.join(": ");
}

function checkListed(method: string, { pages, items, chars }: { pages: number; items: number; chars: number }): void {
  const what = listFields[method as keyof McpListed];
  if (pages > bounds.mcpToolPages) throw new Error(`${method} has more than ${bounds.mcpToolPages} pages`);
  if (items > bounds.mcpTools) throw new Error(`${method} has more than ${bounds.mcpTools} ${what}`);
  if (chars > bounds.mcpAnswerBytes) throw new Error(`${method} is longer than ${bounds.mcpAnswerBytes} characters`);
}

/** Tools whose arguments go into HTTP headers that cannot be: the protocol has clients leave them out. */
function withoutBadHeaders(client: Client, tools: McpTool[]): McpTool[] {
  const page = { tools };
  (client as unknown as { _excludeInvalidXMcpHeaderTools?(page: object): void })._excludeInvalidXMcpHeaderTools?.(page);
  return page.tools;
}

/** Nobody answered, or the answer broke off. What the server answered is no such error. */
function isConnectionError(error: unknown): boolean {
  return errorCode(error) === answerLost || (error instanceof TypeError && error.message === "fetch failed");
}

/** The JSON-RPC code of an error the server answered with, or the SDK's word for another. */
export function errorCode(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

function httpStatus(error: unknown): number | undefined {
  return error instanceof Error && "status" in error ? Number(error.status) : undefined;
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
