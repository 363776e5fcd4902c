import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import type { Hono } from "hono";
import { checkPort, listenError } from "../listen-error.ts";

/** A server that listens, or an error that says why it cannot. */
export async function listen(app: Hono, hostname: string, port: number): Promise<Server> {
  checkPort(port);
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname, port }, () => resolve(server)) as Server;
    server.once("error", (cause) => reject(listenError(cause, hostname, port)));
  });
}
