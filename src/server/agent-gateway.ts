import { Hono } from "hono";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import { requireKey, tellErrors } from "./model/model-app.ts";
import { rolloutName } from "./model/model-request.ts";
import { type ServedApp, serveApp } from "./serve-app.ts";

export interface AgentGatewayOptions {
  /** 127.0.0.1 by default. */
  host?: string;
  /** Any that is free by default. */
  port?: number;
  /** Needed where others than this machine can reach it. */
  apiKey?: string;
}

const knownGatewayOptions: KnownOptions<AgentGatewayOptions> = { host: true, port: true, apiKey: true };

/** Where agents of other processes find the policy: one server for all attempts, each under an address of its own. */
export class AgentGateway {
  readonly #options: AgentGatewayOptions;
  readonly #attempts = new Map<string, Hono>();
  #server: Promise<ServedApp> | undefined;

  constructor(options: AgentGatewayOptions) {
    refuseUnknownOptions("serve of agentEnv", options, knownGatewayOptions);
    this.#options = options;
  }

  /** The base URL of an attempt, without `/v1`. */
  async open(rollout: string, app: Hono): Promise<string> {
    this.#attempts.set(rollout, app);
    this.#server ??= this.#listen();
    const { url } = await this.#server;
    return `${url}/rollouts/${encodeURIComponent(rollout)}`;
  }

  close(rollout: string): void {
    this.#attempts.delete(rollout);
  }

  async #listen(): Promise<ServedApp> {
    const { host = "127.0.0.1", port = 0, apiKey } = this.#options;
    const app = tellErrors(new Hono());
    if (apiKey !== undefined) app.use(requireKey(apiKey));
    for (const path of ["/rollouts/:rollout/*", "/v1/*"]) {
      app.all(path, (context) => {
        const rollout = rolloutName(context) ?? "";
        const attempt = this.#attempts.get(rollout);
        if (attempt !== undefined) return attempt.fetch(context.req.raw);
        throw new LudusError("no-such-rollout", { got: `"${rollout}"`, expected: "an attempt that is not over" });
      });
    }
    const server = await serveApp(app, { host, port, apiKey });
    server.unref();
    return server;
  }
}
