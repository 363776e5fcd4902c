import { randomUUID } from "node:crypto";
import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { errorText } from "../../errors.ts";
import type { Env } from "../env.ts";
import { EnvSession } from "./env-session.ts";
import { OpenEnvError, type OpenEnvSession } from "./open-env-session.ts";
import { closeCodes, type WebSocketConnection } from "./web-socket.ts";

const Incoming = z.looseObject({ type: z.string(), data: z.unknown().optional() });
const Rpc = z.object({
  jsonrpc: z.literal("2.0"),
  method: z.string(),
  params: z.record(z.string(), z.unknown()).default({}),
  id: z.union([z.string(), z.number()]).nullish(),
});
type Id = string | number | null | undefined;

/** Messages of a client that wait for those before them; clients ask one at a time. */
const maxWaiting = 64;

const rpcCodes = {
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  server: -32000,
};

export function isOpenEnvError(error: unknown): error is OpenEnvError {
  return error instanceof OpenEnvError;
}

/** One WebSocket: messages are answered one after the other, in the order they came. */
export class OpenEnvSocket {
  readonly #session: OpenEnvSession;
  readonly #connection: WebSocketConnection;
  readonly #isMcp: boolean;
  readonly #idle: NodeJS.Timeout;
  #last: Promise<void> = Promise.resolve();
  #isOver = false;
  #waiting = 0;

  constructor(
    session: OpenEnvSession,
    connection: WebSocketConnection,
    { isMcp, idleMs }: { readonly isMcp: boolean; readonly idleMs: number },
  ) {
    this.#session = session;
    this.#connection = connection;
    this.#isMcp = isMcp;
    this.#idle = setTimeout(() => void this.close(), Math.min(idleMs, 2 ** 31 - 1)).unref();
  }

  receive(text: string): void {
    this.#idle.refresh();
    if (this.#isOver) return;
    if (++this.#waiting > maxWaiting) {
      this.#isOver = true;
      this.#connection.close(closeCodes.tooMany, `more than ${maxWaiting} messages before their answers`);
      return;
    }
    this.#last = this.#last.then(async () => {
      this.#waiting--;
      if (this.#isOver) return;
      const reply = this.#isMcp ? await this.#rpcText(text) : await this.#answer(text);
      if (reply === undefined) this.#connection.close();
      else this.#connection.send(JSON.stringify(reply));
    });
  }

  refuse(maxSessions: number): void {
    const message = `there are ${maxSessions} sessions already`;
    const data = { message, code: "CAPACITY_REACHED", active_sessions: maxSessions, max_sessions: maxSessions };
    this.#isOver = true;
    this.#connection.send(JSON.stringify({ type: "error", data }));
    this.#connection.close();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#idle);
    this.#connection.close();
    await this.#session.close();
  }

  async #answer(text: string): Promise<object | undefined> {
    let message: unknown;
    try {
      message = parseBoundedJson(text);
    } catch (error) {
      return failure("INVALID_JSON", errorText(error));
    }
    const read = Incoming.safeParse(message);
    if (!read.success) return failure("UNKNOWN_TYPE", "expected an object with a type");
    const { type, data = {} } = read.data;
    try {
      switch (type) {
        case "reset":
          return { type: "observation", data: await this.#session.reset(data) };
        case "step":
          return { type: "observation", data: await this.#session.step(data) };
        case "state":
          return { type: "state", data: this.#session.state };
        case "mcp":
          return { type: "mcp", data: await this.#rpc(data) };
        case "close":
          return undefined;
        default:
          return failure("UNKNOWN_TYPE", `Unknown message type: ${type}`);
      }
    } catch (error) {
      return failure(isOpenEnvError(error) ? error.code : "EXECUTION_ERROR", errorText(error));
    }
  }

  async #rpcText(text: string): Promise<object> {
    try {
      return await this.#rpc(parseBoundedJson(text));
    } catch (error) {
      return rpcError(null, rpcCodes.invalidRequest, errorText(error));
    }
  }

  async #rpc(data: unknown): Promise<object> {
    const read = Rpc.safeParse(data);
    if (!read.success) return rpcError(null, rpcCodes.invalidRequest, z.prettifyError(read.error));
    const { id, method, params } = read.data;
    if (method !== "tools/list" && method !== "tools/call")
      return rpcError(id, rpcCodes.methodNotFound, `Method not found: ${method}`);
    try {
      return { jsonrpc: "2.0", id: id ?? null, result: await this.#session.mcp(method, params) };
    } catch (error) {
      return rpcError(id, rpcCodes.internal, errorText(error));
    }
  }
}

/**
 * `POST /mcp`: sessions that are made and closed by requests. As there is no `reset`, the tools are those of `serveEnv` over MCP:
 * `start_episode`, `say`, `finish` and the environment's own.
 */
export class OpenEnvMcp {
  readonly #env: Env;
  readonly #maxSessions: number;
  readonly #idleMs: number;
  readonly #sessions = new Map<string, EnvSession>();
  readonly #idle = new Map<string, NodeJS.Timeout>();

  constructor(env: Env, { maxSessions, idleMs }: { readonly maxSessions: number; readonly idleMs: number }) {
    this.#env = env;
    this.#maxSessions = maxSessions;
    this.#idleMs = Math.min(idleMs, 2 ** 31 - 1);
  }

  async answer(body: unknown): Promise<object> {
    const read = Rpc.safeParse(body);
    if (!read.success) return rpcError(null, rpcCodes.invalidRequest, z.prettifyError(read.error));
    const { id, method, params } = read.data;
    const session = this.#sessions.get(String(params.session_id));
    this.#idle.get(String(params.session_id))?.refresh();
    switch (method) {
      case "openenv/session/create":
        return this.#create(id);
      case "openenv/session/close":
        if (session === undefined) return rpcError(id, rpcCodes.invalidParams, "Unknown session_id");
        await this.#end(String(params.session_id));
        return { jsonrpc: "2.0", id: id ?? null, result: { session_id: params.session_id, closed: true } };
      case "tools/list": {
        const tools = new EnvSession(this.#env).tools.map(({ parameters, ...tool }) => ({
          ...tool,
          inputSchema: parameters,
        }));
        return { jsonrpc: "2.0", id: id ?? null, result: { tools } };
      }
      case "tools/call":
        return session === undefined
          ? rpcError(id, rpcCodes.invalidParams, "Unknown session_id: ask for one with openenv/session/create")
          : this.#call(session, id, params);
      default:
        return rpcError(id, rpcCodes.methodNotFound, `Method not found: ${method}`);
    }
  }

  async close(): Promise<void> {
    await Promise.all(Array.from(this.#sessions.keys(), (id) => this.#end(id)));
  }

  async #end(id: string): Promise<void> {
    clearTimeout(this.#idle.get(id));
    const session = this.#sessions.get(id);
    this.#idle.delete(id);
    this.#sessions.delete(id);
    await session?.close();
  }

  #create(id: Id): object {
    if (this.#sessions.size >= this.#maxSessions)
      return rpcError(id, rpcCodes.server, `there are ${this.#maxSessions} sessions already`);
    const sessionId = randomUUID();
    this.#sessions.set(sessionId, new EnvSession(this.#env));
    this.#idle.set(sessionId, setTimeout(() => void this.#end(sessionId), this.#idleMs).unref());
    return { jsonrpc: "2.0", id: id ?? null, result: { session_id: sessionId } };
  }

  async #call(session: EnvSession, id: Id, params: Readonly<Record<string, unknown>>): Promise<object> {
    const args = z.record(z.string(), z.unknown()).default({}).safeParse(params.arguments);
    if (!args.success) return rpcError(id, rpcCodes.invalidParams, z.prettifyError(args.error));
    try {
      const { text, isError = false } = await session.call(String(params.name), args.data);
      const result = { content: [{ type: "text", text }], data: text, is_error: isError };
      return { jsonrpc: "2.0", id: id ?? null, result };
    } catch (error) {
      return rpcError(id, rpcCodes.internal, errorText(error));
    }
  }
}

function failure(code: string, message: string): object {
  return { type: "error", data: { message, code } };
}

function rpcError(id: Id, code: number, message: string): object {
  return { jsonrpc: "2.0", id: id ?? null, error: { code, message } };
}
