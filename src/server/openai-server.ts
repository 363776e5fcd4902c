import type { Server } from "node:http";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { LudusError } from "../errors.ts";
import { isLoopback, onlyLoopbackNames } from "./dashboard/access.ts";
import { modelApp } from "./model/model-app.ts";
import { RecordedRollouts, type RecordOptions } from "./model/recorded-rollouts.ts";
import type { ServedModel } from "./model/served-model.ts";

export interface ServeModelOptions {
  model: ServedModel;
  host?: string;
  /** 0 takes any that is free. */
  port?: number;
  /** Needed where others than this machine can reach it. */
  apiKey?: string;
  /** Calls that name a rollout (header `x-ludus-rollout`, or base URL `/rollouts/<id>/v1`) are kept with their tokens. */
  record?: RecordOptions;
  /** Milliseconds since 1970. */
  now?: () => number;
}

export interface ModelServer {
  /** What an OpenAI client takes as its base URL. Of Anthropic's it is the same without `/v1`. */
  readonly url: string;
  readonly port: number;
  /** Where rollouts are recorded. */
  readonly rollouts: RecordedRollouts | undefined;
  close(): Promise<void>;
}

const wallClock = () => performance.timeOrigin + performance.now();

/**
 * Serves a policy as OpenAI and Anthropic serve theirs, so that agents which exist already can use it, and be trained:
 *
 *     const server = await serveModel({ model, record: { onRollout: (trajectories) => learn(trajectories) } });
 *     const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.port}/rollouts/task-7/v1`, apiKey: "none" });
 *     …                                                                    // whatever the agent does
 *     await fetch(`http://127.0.0.1:${server.port}/rollouts/task-7/reward`, { method: "POST", … '{"reward": 1}' });
 */
export async function serveModel(options: ServeModelOptions): Promise<ModelServer> {
  const { model, host = "127.0.0.1", port = 0, apiKey, record, now = wallClock } = options;
  if (apiKey === undefined && !isLoopback(host)) {
    throw new LudusError("key-required", {
      got: `host ${host} without a key`,
      expected: "a key, for others can reach it",
      hint: "Set apiKey (--key), or keep to 127.0.0.1.",
    });
  }
  const rollouts = record === undefined ? undefined : new RecordedRollouts(model, record);
  const app = new Hono();
  if (isLoopback(host)) app.use(onlyLoopbackNames());
  app.route("/", modelApp({ model, rollouts, now: () => now() / 1000 }, apiKey));
  const server = await listen(app, host, port);
  const address = server.address();
  const taken = typeof address === "object" && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(":") ? `[${host}]` : host}:${taken}/v1`,
    ...{ port: taken, rollouts },
    async close() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

function listen(app: Hono, hostname: string, port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = serve({ fetch: app.fetch, hostname, port }, () => resolve(server)) as Server;
    server.once("error", (cause) => {
      reject(new LudusError("cannot-listen", { got: cause.message, expected: `port ${port} of ${hostname}`, cause }));
    });
  });
}
