import { Hono } from "hono";
import { LudusError } from "../errors.ts";
import { isLoopback } from "../http-origin.ts";
import { onlyLoopbackNames, onlyOwnPages } from "./dashboard/access.ts";
import { type Listening, listen } from "./listen.ts";

/** Listens with an app that checks the key itself; where others than this machine can reach it, it must have one. */
export async function serveApp(
  routes: Hono,
  { host, port, apiKey }: { host: string; port: number; apiKey: string | undefined },
): Promise<Listening> {
  if (apiKey === undefined && !isLoopback(host)) {
    throw new LudusError("key-required", {
      got: `host ${host} without a key`,
      expected: "a key, for others can reach it",
      hint: "Set apiKey (--key), or keep to 127.0.0.1.",
    });
  }
  const app = new Hono();
  if (isLoopback(host)) app.use(onlyLoopbackNames());
  app.use(onlyOwnPages());
  app.route("/", routes);
  return listen(app, host, port);
}
