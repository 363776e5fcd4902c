import { Hono } from "hono";
import { LudusError } from "../errors.ts";
import { isLoopback, onlyLoopbackNames } from "./dashboard/access.ts";
import { listen } from "./listen.ts";

export interface ServedApp {
  /** Without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** From now on it does not keep the process alive. */
  unref(): void;
  close(): Promise<void>;
}

/** Listens with an app that checks the key itself; where others than this machine can reach it, it must have one. */
export async function serveApp(
  routes: Hono,
  { host, port, apiKey }: { host: string; port: number; apiKey: string | undefined },
): Promise<ServedApp> {
  if (apiKey === undefined && !isLoopback(host)) {
    throw new LudusError("key-required", {
      got: `host ${host} without a key`,
      expected: "a key, for others can reach it",
      hint: "Set apiKey (--key), or keep to 127.0.0.1.",
    });
  }
  const app = new Hono();
  if (isLoopback(host)) app.use(onlyLoopbackNames());
  app.route("/", routes);
  const server = await listen(app, host, port);
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
