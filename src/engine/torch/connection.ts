import { readFileSync } from "node:fs";
import {
  type Client,
  Code,
  ConnectError,
  createClient,
  decodeBinaryHeader,
  type Interceptor,
} from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { z } from "zod";
import { defined } from "../../defined.ts";
import { LudusError } from "../../errors.ts";
import { closedError } from "../closed-error.ts";
import { Engine as EngineService } from "./engine_pb.ts";

/** Raised by every change of engine.proto that an older side would misread. */
export const protocol = 4;

export interface ConnectionOptions {
  /** "host:port" */
  address: string;
  token: string;
  session: string;
  tls?: TlsOptions | undefined;
  /** Plain text beyond loopback. */
  insecure: boolean;
  /** The worker process, if this engine started it: tells an exit from a broken connection. */
  process?: StartedWorker | undefined;
}

interface StartedWorker {
  readonly hasRanks?: boolean;
  hasEnded(withinMs?: number): Promise<boolean>;
  exitError(during: string): LudusError;
}

export interface TlsOptions {
  /** PEM file of the authority that signed the worker's certificate, where the system does not know it. */
  ca?: string;
  /** The name in the certificate, where it is not the host's. */
  serverName?: string;
}

const WorkerError = z.object({
  code: z.string(),
  got: z.string(),
  expected: z.string(),
  hint: z.string().nullish(),
});

export type WorkerClient = Client<typeof EngineService>;

/** The gRPC connection to a worker, with its token; errors become `LudusError`s. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #sessions: Http2SessionManager;
  readonly #client: WorkerClient;
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const { address, tls, insecure } = options;
    if (tls === undefined && !insecure && !isLoopback(address)) {
      throw new LudusError("plain-text-refused", {
        got: `"${address}", which is not on this machine, without TLS`,
        expected: "an encrypted connection: prompts and the token would travel readable",
        hint: "Start the worker with --tls-certificate and pass `tls`, go through an SSH tunnel, or set `insecure`.",
      });
    }
    const baseUrl = `${tls === undefined ? "http" : "https"}://${address}`;
    const nodeOptions =
      tls === undefined
        ? {}
        : {
            ...defined({ ca: tls.ca === undefined ? undefined : readFileSync(tls.ca), servername: tls.serverName }),
          };
    const keepAlive = { pingIntervalMs: 60_000, pingTimeoutMs: 60_000, idleConnectionTimeoutMs: 24 * 3600_000 };
    this.#sessions = new Http2SessionManager(baseUrl, keepAlive, nodeOptions);
    const transport = createGrpcTransport({
      baseUrl,
      nodeOptions,
      sessionManager: this.#sessions,
      interceptors: [this.#identify],
      acceptCompression: [],
    });
    this.#client = createClient(EngineService, transport);
  }

  get session(): string {
    return this.#options.session;
  }

  readonly #identify: Interceptor = (next) => (request) => {
    request.header.set("ludus-token", this.#options.token);
    request.header.set("ludus-session", this.#options.session);
    return next(request);
  };

  /** For calls that last. */
  open(name: string): WorkerClient {
    if (this.#closed) throw closedError(name);
    return this.#client;
  }

  async call<Reply>(
    name: string,
    call: (client: WorkerClient, options: { signal?: AbortSignal }) => Promise<Reply>,
    signal?: AbortSignal,
  ): Promise<Reply> {
    if (this.#closed) throw closedError(name);
    try {
      return await call(this.#client, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw await this.explain(error, name);
    }
  }

  /** The `LudusError` for what went wrong. */
  async explain(error: unknown, name: string): Promise<unknown> {
    if (!(error instanceof ConnectError)) return error;
    const details = error.metadata.get("ludus-error-bin");
    if (details !== null) {
      return this.told(new TextDecoder().decode(decodeBinaryHeader(details)), name);
    }
    if (this.#closed) return closedError(name);
    const worker = this.#options.process;
    const patience = worker?.hasRanks === true ? rankPatienceMs : undefined;
    if (worker !== undefined && (await worker.hasEnded(patience))) return worker.exitError(`${name}()`);
    const isGone = [Code.Unavailable, Code.Aborted, Code.Canceled, Code.Internal, Code.Unknown].includes(error.code);
    return new LudusError(isGone ? "connection-lost" : "worker-error", {
      got: error.rawMessage,
      expected: `${name}() at ${this.#options.address} to succeed`,
      hint: "Is the worker running, at that port, with or without TLS as asked? What it has not saved is lost if it ended.",
      cause: error,
    });
  }

  /** An error as the worker wrote it. Where a rank died, that is the error: the others saw a connection break, and torchrun ends them. */
  async told(json: string, name: string): Promise<LudusError> {
    const error = workerError(json);
    const worker = this.#options.process;
    if (worker?.hasRanks !== true || error.code !== "worker-error" || !ofRanks.test(error.details.got)) return error;
    return (await worker.hasEnded(rankPatienceMs)) ? worker.exitError(`${name}()`) : error;
  }

  /** Both sides must speak the same protocol. */
  async hello(): Promise<Record<string, string>> {
    const reply = await this.call("hello", (client, options) => client.hello({ protocol }, options));
    if (reply.protocol === protocol) return reply.versions;
    const isOurs = reply.protocol > protocol;
    throw new LudusError("protocol-mismatch", {
      got: `a worker (${reply.workerVersion}) that speaks protocol ${reply.protocol}`,
      expected: `protocol ${protocol}, as this side does`,
      hint: isOurs ? "Upgrade this side: npm install ludus@latest." : "Upgrade the worker: pip install ./worker there.",
    });
  }

  close(): void {
    this.#closed = true;
    this.#sessions.abort();
  }
}

const ofRanks = /gloo|nccl|process ?group|connection (reset|closed|refused)|broken pipe|store/i;
/** torchrun looks every few seconds, and gives the ranks that are left some time. */
const rankPatienceMs = 40_000;

function workerError(json: string): LudusError {
  const { code, got, expected, hint } = WorkerError.parse(JSON.parse(json));
  return new LudusError(code, { got, expected, ...defined({ hint: hint == null ? undefined : hint }) });
}

export function isLoopback(address: string): boolean {
  const host = address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host);
}
