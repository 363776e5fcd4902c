import { randomBytes } from "node:crypto";
import { wallClock } from "../clock.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { modelApp } from "./model/model-app.ts";
import { RecordedRollouts, type RecordOptions } from "./model/recorded-rollouts.ts";
import type { ServedModel } from "./model/served-model.ts";
import { serveApp } from "./serve-app.ts";

export interface ServeModelOptions {
  model: ServedModel;
  host?: string;
  /** 0 takes any that is free. */
  port?: number;
  /** Needed where others than this machine can reach it. With `record` one is made where none is given: a key is what may reward. */
  apiKey?: string;
  /** Calls that name a rollout (header `x-ludus-rollout`, or base URL `/rollouts/<id>/v1`) are kept with their tokens. */
  record?: RecordOptions;
  /** Requests that are answered at once; more are refused with status 429, and clients ask again. 1024 by default. */
  maxRequests?: number;
  /** Milliseconds since 1970. */
  now?: () => number;
}

const knownServeModelOptions: KnownOptions<ServeModelOptions> = {
  model: true,
  host: true,
  port: true,
  apiKey: true,
  record: true,
  maxRequests: true,
  now: true,
};

export interface ModelServer {
  /** What an OpenAI client takes as its base URL. Of Anthropic's and Google's it is the same without `/v1`. */
  readonly url: string;
  readonly port: number;
  /** What clients must send. */
  readonly apiKey: string | undefined;
  /** Where rollouts are recorded. */
  readonly rollouts: RecordedRollouts | undefined;
  close(): Promise<void>;
}

/**
 * Serves a policy as OpenAI, Anthropic and Google serve theirs, so that agents which exist already can use it, and be trained:
 *
 *     const server = await serveModel({ model, record: { onRollout: (trajectories) => learn(trajectories) } });
 *     const client = new OpenAI({ baseURL: `http://127.0.0.1:${server.port}/rollouts/task-7/v1`, apiKey: server.apiKey });
 *     …                                                                    // whatever the agent does
 *     await fetch(`http://127.0.0.1:${server.port}/rollouts/task-7/reward`, { method: "POST", … });
 */
export async function serveModel(options: ServeModelOptions): Promise<ModelServer> {
  refuseUnknownOptions("serveModel", options, knownServeModelOptions);
  const { model, host = "127.0.0.1", port = 0, record, maxRequests = 1024, now = wallClock } = options;
  const rollouts = record === undefined ? undefined : new RecordedRollouts(model, record);
  const apiKey = options.apiKey ?? (record === undefined ? undefined : randomBytes(24).toString("base64url"));
  const load = { count: 0, most: maxRequests };
  const app = modelApp({ model, rollouts, now: () => now() / 1000, load }, apiKey);
  const { url, port: taken, close } = await serveApp(app, { host, port, apiKey });
  return { url: `${url}/v1`, port: taken, apiKey, rollouts, close };
}
