import { z } from "zod";
import { parseBoundedJson } from "../../bounded-json.ts";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { errorText, LudusError } from "../../errors.ts";

/** Where a server is, and what every request to it carries. */
export interface OpenEnvAddress {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const Result = z.object({
  observation: z.record(z.string(), z.unknown()),
  reward: z.union([z.number(), z.boolean().transform(Number)]).nullish(),
  done: z.boolean().default(false),
});
export type OpenEnvResult = z.infer<typeof Result>;

const Failure = z.object({ message: z.string().default("no reason given"), code: z.string().default("UNKNOWN") });
const Answer = z.discriminatedUnion("type", [
  z.object({ type: z.literal("observation"), data: Result }),
  z.object({ type: z.literal("state"), data: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("mcp"), data: z.record(z.string(), z.unknown()) }),
  z.object({ type: z.literal("error"), data: Failure }),
]);
type Answer = z.infer<typeof Answer>;

export function protocolError(address: OpenEnvAddress, got: string, cause?: unknown): LudusError {
  return new LudusError("open-env-protocol", {
    got: `${got} from ${address.url}`,
    expected: "what a server of OpenEnv says",
    hint: "Is `url` the address of the environment, without /ws? Old servers that know HTTP alone are not supported.",
    ...defined({ cause }),
  });
}

export function unreachable(address: OpenEnvAddress, why: string, cause?: unknown): LudusError {
  return new LudusError("open-env-unreachable", {
    got: `${address.url}: ${why}`,
    expected: "a server of OpenEnv that answers",
    hint: "Is it running, and does the address have its port?",
    ...defined({ cause }),
  });
}

const leaveMs = 1_000;

/** Node's takes headers; the types of browsers do not know them. */
const NodeWebSocket = WebSocket as unknown as new (
  url: string,
  options: { readonly headers: Readonly<Record<string, string>> },
) => WebSocket;

/** One WebSocket, which is one environment at the server. One request at a time; one that is given up ends the connection. */
export class OpenEnvConnection {
  readonly #address: OpenEnvAddress;
  readonly #socket: WebSocket;
  #waiting: PromiseWithResolvers<string> | undefined;
  #lost: LudusError | undefined;
  /** What the server says of itself before it was asked, such as that it is full. */
  #unasked: string | undefined;

  private constructor(address: OpenEnvAddress, socket: WebSocket) {
    this.#address = address;
    this.#socket = socket;
    socket.addEventListener("message", ({ data }) => this.#receive(data));
    socket.addEventListener("close", ({ code, reason }) => {
      this.#fail(unreachable(address, `the connection was closed (${code}${reason === "" ? "" : `, ${reason}`})`));
    });
    socket.addEventListener("error", () => {});
  }

  static async open(address: OpenEnvAddress, signal: AbortSignal): Promise<OpenEnvConnection> {
    signal.throwIfAborted();
    const url = `${address.url.replace(/^http/, "ws")}/ws`;
    const socket = new NodeWebSocket(url, { headers: { ...address.headers } });
    const opened = Promise.withResolvers<OpenEnvConnection>();
    const giveUp = () => {
      opened.reject(signal.reason);
      socket.close();
    };
    // made now, so that no message is missed
    const connection = new OpenEnvConnection(address, socket);
    socket.addEventListener("open", () => opened.resolve(connection), { once: true });
    socket.addEventListener("error", (event) => {
      const why = "message" in event && event.message ? String(event.message) : "no WebSocket could be opened at /ws";
      opened.reject(unreachable(address, why));
    });
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      return await opened.promise;
    } finally {
      signal.removeEventListener("abort", giveUp);
    }
  }

  async observe(type: "reset" | "step", data: object, signal: AbortSignal): Promise<OpenEnvResult> {
    const answer = await this.#request({ type, data }, signal);
    if (answer.type !== "observation") throw this.#unexpected(answer);
    return answer.data;
  }

  async state(signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#request({ type: "state" }, signal);
    if (answer.type !== "state") throw this.#unexpected(answer);
    return answer.data;
  }

  async mcp(data: object, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    const answer = await this.#request({ type: "mcp", data }, signal);
    if (answer.type !== "mcp") throw this.#unexpected(answer);
    return answer.data;
  }

  /** The server closes what it is told to close; it may take a moment. */
  close(): void {
    if (this.#socket.readyState !== WebSocket.OPEN) {
      this.#socket.close();
      return;
    }
    this.#socket.send(JSON.stringify({ type: "close" }));
    const timer = setTimeout(() => this.#socket.close(), leaveMs);
    this.#socket.addEventListener("close", () => clearTimeout(timer), { once: true });
  }

  async #request(message: object, signal: AbortSignal): Promise<Answer> {
    signal.throwIfAborted();
    if (this.#unasked !== undefined) return this.#parse(this.#unasked);
    if (this.#lost !== undefined) throw this.#lost;
    const waiting = Promise.withResolvers<string>();
    this.#waiting = waiting;
    const giveUp = () => {
      waiting.reject(signal.reason);
      // its answer would be taken for that of the next request
      this.#socket.close();
    };
    signal.addEventListener("abort", giveUp, { once: true });
    try {
      this.#socket.send(JSON.stringify(message));
      return this.#parse(await waiting.promise);
    } finally {
      signal.removeEventListener("abort", giveUp);
      this.#waiting = undefined;
    }
  }

  #receive(data: unknown): void {
    if (typeof data !== "string" || data.length > bounds.openEnvAnswerChars) {
      const size = typeof data === "string" ? `a message of ${data.length} characters` : "a message that is no text";
      this.#fail(protocolError(this.#address, size));
      this.#socket.close();
    } else if (this.#waiting === undefined) this.#unasked ??= data;
    else this.#waiting.resolve(data);
  }

  #parse(text: string): Answer {
    let message: unknown;
    try {
      message = parseBoundedJson(text);
    } catch (cause) {
      throw protocolError(this.#address, `a message that is no JSON (${errorText(cause)})`, cause);
    }
    const read = Answer.safeParse(message);
    if (read.success) return read.data;
    throw protocolError(this.#address, `a message that is none of its kinds (${z.prettifyError(read.error)})`);
  }

  /** What is no answer to what was asked. A refused action is the policy's doing; anything else is the server's. */
  #unexpected(answer: Answer): Error {
    if (answer.type !== "error") return protocolError(this.#address, `"${answer.type}" for an answer`);
    const { code, message } = answer.data;
    if (code === "VALIDATION_ERROR") return new RefusedAction(message);
    if (code === "INVALID_JSON" || code === "UNKNOWN_TYPE") return protocolError(this.#address, `${code}: ${message}`);
    return new LudusError("open-env-failed", {
      got: `${code} from ${this.#address.url}: ${message}`,
      expected: "an observation",
      ...defined({ hint: code === "CAPACITY_REACHED" ? full : undefined }),
    });
  }

  #fail(error: LudusError): void {
    this.#lost ??= error;
    this.#waiting?.reject(this.#lost);
  }
}

const full = "Start the server with a larger max_concurrent_envs, or train with a smaller `concurrency`.";

/** The server did not take the action: its fields are not those of the schema. */
export class RefusedAction extends Error {
  override readonly name = "RefusedAction";
}
