import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { bounds } from "../bounds.ts";
import { checkPort, listenError } from "../listen-error.ts";

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
  checkPort(port);
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
    server.once("error", (cause) => reject(listenError(cause, hostname, port)));
  });
}
