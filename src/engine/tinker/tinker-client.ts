import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { boundedBytes, boundedText } from "../../bounded-response.ts";
import { bounds } from "../../bounds.ts";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { createRng, type Rng } from "../../random.ts";
import { redact } from "../../redact.ts";
import { closedError } from "../closed-error.ts";

/** How requests to a server are made. Times are in milliseconds. */
export interface ClientOptions {
  readonly url: string;
  readonly apiKey?: string;
  /** How long one request is tried again while the server does not answer or is busy. */
  readonly retryMs: number;
  /** How long one computation may take. */
  readonly computeMs: number;
  /** The first wait before another try; it doubles up to 30 s. */
  readonly backoffMs: number;
  /** How large a file may be that the server hands out, and how long it may take. */
  readonly maxDownloadBytes: number;
  readonly downloadMs: number;
}

interface Call {
  readonly signal?: AbortSignal;
  /** A second arrival would change the result: tried again only where the first cannot have arrived. */
  readonly isOnce?: boolean;
  /** Also made by a client that was stopped. */
  readonly isLast?: boolean;
}

// as the protocol's own client: a server that is busy, restarting, or not yet done with what this one needs
const busy = new Set([408, 409, 425, 429]);
// a server that says one of these has not begun
const notBegun = new Set([425, 429, 503]);
const notConnected = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH"]);

const Submitted = z.looseObject({ request_id: z.string() });
const Pending = z.looseObject({ type: z.literal("try_again") });
const Title = z.looseObject({ info: z.looseObject({ title: z.string() }) });
const Failed = z.looseObject({ error: z.string(), category: z.string().optional() });

/** Requests to a server of the Tinker protocol: tried again with growing waits, the key in no error and no log. */
export class TinkerClient {
  readonly #options: ClientOptions;
  readonly #rng: Rng = createRng(0);
  readonly #stopped = new AbortController();

  constructor(options: ClientOptions) {
    this.#options = options;
  }

  /** Ends all requests, those that wait and those to come, but for the last ones. */
  stop(): void {
    this.#stopped.abort(closedError("a request"));
  }

  /** Submits a computation and waits for what it returns. */
  async compute<Schema extends z.ZodType>(path: string, body: object, result: Schema, call: Call = {}) {
    return this.result(path, await this.submit(path, body, call), result, call);
  }

  /** The id of a computation that the server has taken. */
  async submit(path: string, body: object, call: Call = {}): Promise<string> {
    return (await this.post(path, body, Submitted, call)).request_id;
  }

  /** Asks until a computation is done. */
  async result<Schema extends z.ZodType>(
    what: string,
    id: string,
    schema: Schema,
    { signal, isLast = false }: Call = {},
  ): Promise<z.output<Schema>> {
    const { computeMs } = this.#options;
    const started = performance.now();
    while (performance.now() - started < computeMs) {
      const reply = await this.#send("retrieve_future", { request_id: id }, { isLast, ...defined({ signal }) });
      // the server waited as long as it does for one request
      if (reply.status === 408) continue;
      if (!reply.isGood) throw this.#refused(what, reply);
      if (Pending.safeParse(reply.json).success) {
        await this.#wait(this.#options.backoffMs, isLast ? signal : this.#unlessStopped(signal));
        continue;
      }
      const failed = Failed.safeParse(reply.json);
      if (failed.success) throw this.#failed(what, failed.data.error);
      return this.#read(what, schema, reply);
    }
    throw new LudusError("connection-lost", {
      got: `no result of ${what} within ${computeMs} ms`,
      expected: "one",
      hint: "Look at the server's log; `computeMs` allows more time.",
    });
  }

  async post<Schema extends z.ZodType>(path: string, body: object, schema: Schema, call: Call = {}) {
    const reply = await this.#send(path, body, call);
    if (!reply.isGood) throw this.#refused(path, reply);
    return this.#read(path, schema, reply);
  }

  async get<Schema extends z.ZodType>(path: string, schema: Schema): Promise<z.output<Schema>> {
    const reply = await this.#send(path, undefined, {});
    if (!reply.isGood) throw this.#refused(path, reply);
    return this.#read(path, schema, reply);
  }

  /** What the server's own description calls it, where it has one. */
  async title(): Promise<string | undefined> {
    try {
      const response = await fetch(`${this.#options.url}/openapi.json`, { signal: AbortSignal.timeout(10_000) });
      const text = await boundedText(response, bounds.tinkerAnswerBytes);
      return Title.safeParse(parsed(text ?? "")).data?.info.title;
    } catch {
      return undefined;
    }
  }

  /** A file that the server hands out, or an address elsewhere, which does not get the key. */
  async download(path: string): Promise<Uint8Array> {
    const asked = this.#address(path);
    const late = AbortSignal.timeout(this.#options.downloadMs);
    const signal = AbortSignal.any([late, this.#stopped.signal]);
    try {
      const first = await fetch(asked, { headers: this.#headers(), redirect: "manual", signal });
      const elsewhere = first.headers.get("location");
      if (first.status < 300 || first.status > 399 || elsewhere === null) return await this.#bytes(first, path);
      const target = new URL(elsewhere, asked);
      const isOwn = target.origin === asked.origin;
      const init: RequestInit = isOwn ? { headers: this.#headers(), redirect: "error" } : {};
      return await this.#bytes(await fetch(target, { ...init, signal }), path);
    } catch (cause) {
      if (cause instanceof LudusError) throw cause;
      if (this.#stopped.signal.aborted) throw closedError(path);
      if (late.aborted) throw this.#tooLate(path);
      throw this.#unreachable(path, reasonOf(cause), 1);
    }
  }

  async #bytes(response: Response, path: string): Promise<Uint8Array> {
    const { maxDownloadBytes } = this.#options;
    const bytes = await boundedBytes(response, response.ok ? maxDownloadBytes : bounds.tinkerAnswerBytes);
    if (!response.ok) {
      throw this.#refused(path, { status: response.status, text: Buffer.from(bytes ?? []).toString("utf8") });
    }
    if (bytes !== undefined) return bytes;
    throw new LudusError("download-too-large", {
      got: `more than ${maxDownloadBytes} bytes for ${path}`,
      expected: "an adapter of that size at most",
      hint: "Train with a lower rank, allow more with `maxDownloadBytes`, or leave it at the server with `download: false`.",
    });
  }

  #tooLate(path: string): LudusError {
    return new LudusError("connection-lost", {
      got: `no whole file within ${this.#options.downloadMs} ms for ${path}`,
      expected: "one",
      hint: "Allow more time with `downloadMs`, or leave the adapter at the server with `download: false`.",
    });
  }

  /** A signal that is also aborted when the client is stopped. */
  #unlessStopped(signal: AbortSignal | undefined): AbortSignal {
    return signal === undefined ? this.#stopped.signal : AbortSignal.any([signal, this.#stopped.signal]);
  }

  /** One answer, good or bad, after as many tries as there is time for. */
  async #send(path: string, body: object | undefined, call: Call): Promise<Reply> {
    const signal = call.isLast === true ? call.signal : this.#unlessStopped(call.signal);
    try {
      return await this.#sendUntil(path, body, { ...call, ...defined({ signal }) });
    } catch (error) {
      if (call.isLast !== true && this.#stopped.signal.aborted) throw closedError(path);
      throw error;
    }
  }

  async #sendUntil(path: string, body: object | undefined, { signal, isOnce = false }: Call): Promise<Reply> {
    const { retryMs, backoffMs } = this.#options;
    const started = performance.now();
    for (let tries = 1; ; tries++) {
      signal?.throwIfAborted();
      const outcome = await this.#try(path, body, signal);
      const mayArriveTwice = outcome.kind === "lost" ? !outcome.isUnsent : !notBegun.has(outcome.status);
      const isOver = performance.now() - started > retryMs || (isOnce && mayArriveTwice);
      if (outcome.kind === "reply") {
        const isBusy = outcome.status >= 500 || busy.has(outcome.status);
        if (!isBusy || isOver || (path === "retrieve_future" && outcome.status === 408)) return outcome;
      } else if (isOver) {
        throw this.#unreachable(path, outcome.reason, tries);
      }
      const growing = Math.min(30_000, backoffMs * 2 ** Math.min(tries - 1, 20)) * (0.75 + this.#rng.next() / 2);
      await this.#wait(outcome.kind === "reply" ? (outcome.afterMs ?? growing) : growing, signal);
    }
  }

  async #try(path: string, body: object | undefined, signal: AbortSignal | undefined): Promise<Reply | Lost> {
    const init = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    try {
      // a redirect would take the key elsewhere
      const how = { ...init, headers: this.#headers(), redirect: "manual" as const, ...defined({ signal }) };
      const response = await fetch(this.#address(path), how);
      const text = await boundedText(response, bounds.tinkerAnswerBytes);
      if (text === undefined) throw this.#tooLong(path);
      const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
      const afterMs = Number.isFinite(seconds) ? Math.min(60, Math.max(0, seconds)) * 1000 : undefined;
      const { status, ok: isGood } = response;
      return { kind: "reply", status, isGood, text, json: parsed(text), ...defined({ afterMs }) };
    } catch (cause) {
      signal?.throwIfAborted();
      if (cause instanceof LudusError) throw cause;
      const code = cause instanceof Error && cause.cause instanceof Error && "code" in cause.cause && cause.cause.code;
      return { kind: "lost", reason: reasonOf(cause), isUnsent: notConnected.has(String(code)) };
    }
  }

  async #wait(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
    try {
      await sleep(milliseconds, undefined, defined({ signal }));
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  }

  #address(path: string): URL {
    return new URL(`${this.#options.url}/api/v1/${path}`);
  }

  #headers(): Record<string, string> {
    const { apiKey } = this.#options;
    return { "content-type": "application/json", ...defined({ "x-api-key": apiKey }) };
  }

  #read<Schema extends z.ZodType>(what: string, schema: Schema, reply: Pick<Reply, "json" | "text">): z.output<Schema> {
    const read = schema.safeParse(reply.json);
    if (read.success) return read.data;
    const { message, path } = read.error.issues[0];
    throw new LudusError("server-refused", {
      got: `${this.#shown(reply.text)} for ${what} (${path.join(".")}: ${message})`,
      expected: "an answer of the Tinker protocol",
      hint: "Is the address that of a server of this protocol, and of a version like the one this engine was written for?",
    });
  }

  #refused(path: string, { status, text }: Pick<Reply, "status" | "text">): LudusError {
    if (status === 401 || status === 403) {
      return new LudusError("key-refused", {
        got: `${status} for ${path}`,
        expected: "a key that the server knows",
        hint: "Set TINKER_API_KEY, or apiKey of tinker().",
      });
    }
    const isGone = status >= 500 || busy.has(status);
    return new LudusError(isGone ? "connection-lost" : "server-refused", {
      got: `${status} for ${path}: ${this.#shown(text)}`,
      expected: "200",
    });
  }

  #tooLong(path: string): LudusError {
    return new LudusError("server-refused", {
      got: `more than ${bounds.tinkerAnswerBytes} bytes for ${path}`,
      expected: "an answer of the Tinker protocol",
    });
  }

  #failed(what: string, error: string): LudusError {
    return new LudusError("server-refused", { got: `${what}: ${this.#shown(error)}`, expected: "a result" });
  }

  #unreachable(path: string, reason: string, tries: number): LudusError {
    return new LudusError("connection-lost", {
      got: `${this.#shown(reason)} for ${path}, in ${tries} ${tries === 1 ? "try" : "tries"}`,
      expected: `a server of the Tinker protocol at ${new URL(this.#options.url).origin}`,
      hint: "Is it running? A run with `run` goes on from its last checkpoint when it is started again.",
    });
  }

  /** A server may repeat the request, and with it the key. */
  #shown(text: string): string {
    const { apiKey } = this.#options;
    return redact(text, defined({ key: apiKey })).slice(0, 500);
  }
}

interface Reply {
  readonly kind: "reply";
  readonly status: number;
  readonly isGood: boolean;
  readonly text: string;
  readonly json: unknown;
  readonly afterMs?: number;
}

interface Lost {
  readonly kind: "lost";
  readonly reason: string;
  /** No connection was made: the server has seen nothing of it. */
  readonly isUnsent: boolean;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function reasonOf(cause: unknown): string {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? `${cause.message}: ${cause.cause.message}` : cause.message;
}
