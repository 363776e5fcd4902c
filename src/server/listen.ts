import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { bounds } from "../bounds.ts";
import { defined } from "../defined.ts";
import { LudusError } from "../errors.ts";

export interface Listening {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** From now on it does not keep the process alive. */
  unref(): void;
  close(): Promise<void>;
}

/** Answers requests with an app. A client that takes too long to say what it wants is hung up on. */
export async function listen(
  app: Hono,
  host: string,
  port: number,
  { headerMs, requestMs }: { headerMs: number; requestMs: number } = bounds,
): Promise<Listening> {
  const server = await bind(app, host, port, {
    headersTimeout: headerMs,
    requestTimeout: requestMs,
    connectionsCheckingInterval: Math.min(headerMs, 5_000),
  });
  const address = server.address();
  const taken = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}`,
    port: taken,
    unref: () => server.unref(),
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function bind(app: Hono, hostname: string, port: number, serverOptions: object): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname, port, serverOptions }, () => resolve(server)) as Server;
    server.once("error", (error) => reject(cannotListen(error, hostname, port)));
  });
}

function cannotListen(error: Error, host: string, port: number): Error {
  const isTaken = "code" in error && error.code === "EADDRINUSE";
  return new LudusError("cannot-listen", {
    got: error.message,
    expected: `to listen on ${host} port ${port}`,
    ...defined({ hint: isTaken ? "Choose another with --port, or 0 for any that is free." : undefined }),
    cause: error,
  });
}
