import { createHash, randomBytes } from "node:crypto";
import { Hono } from "hono";
import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseUnknownOptions } from "../known-options.ts";
import type { Listening } from "./listen.ts";
import { requireKey, tellErrors } from "./model/model-app.ts";
import { serveApp } from "./serve-app.ts";

export interface AgentGatewayOptions {
  /** 127.0.0.1 by default. */
  host?: string;
  /** Any that is free by default. */
  port?: number;
  /** Needed where others than this machine can reach it. */
  apiKey?: string;
}

const knownGatewayOptions: KnownOptions<AgentGatewayOptions> = { host: true, port: true, apiKey: true };

/** The two addresses of an attempt. Nobody can guess them, and neither can be told from the other. */
export interface AttemptAddress {
  /** Without `/v1`. */
  readonly base: string;
  readonly rewardUrl: string;
  /** Clients want one, also where the server does not. */
  readonly apiKey: string;
  /** From now on nobody answers there. */
  close(): void;
}

/**
 * Where agents of other processes find the policy: one server for all attempts. The address is the authority: that of the model
 * may be known to whatever the agent runs for the policy, that of the reward is for whoever scores.
 */
export class AgentGateway {
  readonly #options: AgentGatewayOptions;
  readonly #models = new Map<string, Hono>();
  readonly #rewards = new Map<string, Hono>();
  #server: Promise<Listening> | undefined;

  constructor(options: AgentGatewayOptions) {
    refuseUnknownOptions("serve of agentEnv", options, knownGatewayOptions);
    this.#options = options;
  }

  async open(app: Hono): Promise<AttemptAddress> {
    this.#server ??= this.#listen();
    const { url } = await this.#server;
    const [model, reward] = [newToken(), newToken()];
    this.#models.set(digest(model), app);
    this.#rewards.set(digest(reward), app);
    return {
      base: `${url}/rollouts/${model}`,
      rewardUrl: `${url}/rollouts/${reward}/reward`,
      apiKey: this.#options.apiKey ?? "none",
      close: () => {
        this.#models.delete(digest(model));
        this.#rewards.delete(digest(reward));
      },
    };
  }

  async #listen(): Promise<Listening> {
    const { host = "127.0.0.1", port = 0, apiKey } = this.#options;
    const app = tellErrors(new Hono());
    if (apiKey !== undefined) app.use(requireKey(apiKey));
    const answer = (path: string, attempts: ReadonlyMap<string, Hono>) =>
      app.all(path, ({ req }) => {
        const attempt = attempts.get(digest(req.param("token") ?? ""));
        if (attempt !== undefined) return attempt.fetch(req.raw);
        throw new LudusError("no-such-rollout", { got: "another address", expected: "that of an attempt under way" });
      });
    answer("/rollouts/:token/v1/*", this.#models);
    answer("/rollouts/:token/v1beta/*", this.#models);
    answer("/rollouts/:token/reward", this.#rewards);
    const server = await serveApp(app, { host, port, apiKey });
    server.unref();
    return server;
  }
}

const newToken = () => randomBytes(24).toString("base64url");

/** Looked up by their digests, tokens take the same time however much of one was guessed. */
const digest = (token: string) => createHash("sha256").update(token).digest("base64");
