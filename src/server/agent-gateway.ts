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
  /**
   * For an agent whose base URL is set where it is started: every attempt is at `http://host:port/v1`, and they are made one after the
   * other. What an agent still asks after its time was up counts as the next attempt's.
   */
  fixed?: boolean;
}

const knownGatewayOptions: KnownOptions<AgentGatewayOptions> = {
  host: true,
  port: true,
  apiKey: true,
  fixed: true,
};

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

/** Nobody answers there: a call that was not captured fails at once. */
export const nowhere = {
  base: "http://captured.invalid",
  rewardUrl: "http://captured.invalid/reward",
  apiKey: "none",
} satisfies Omit<AttemptAddress, "close">;

/**
 * Where agents of other processes find the policy: one server for all attempts. The address is the authority: that of the model
 * may be known to whatever the agent runs for the policy, that of the reward is for whoever scores.
 */
export class AgentGateway {
  readonly #options: AgentGatewayOptions;
  readonly #models = new Map<string, Hono>();
  readonly #rewards = new Map<string, Hono>();
  /** Who is asked at the fixed address. */
  #current: Hono | undefined;
  #server: Promise<Listening> | undefined;

  constructor(options: AgentGatewayOptions) {
    refuseUnknownOptions("serve of agentEnv", options, knownGatewayOptions);
    if (options.fixed === true && !options.port) {
      throw new LudusError("bad-config", {
        got: "serve: { fixed: true } without a port",
        expected: "the port that the agent was told",
      });
    }
    this.#options = options;
  }

  /** Whether attempts share an address, and so have to be made one after the other. */
  get isFixed(): boolean {
    return this.#options.fixed === true;
  }

  async open(app: Hono): Promise<AttemptAddress> {
    this.#server ??= this.#listen();
    const { url } = await this.#server;
    const [model, reward] = [newToken(), newToken()];
    if (this.isFixed) this.#current = app;
    else this.#models.set(digest(model), app);
    this.#rewards.set(digest(reward), app);
    return {
      base: this.isFixed ? url : `${url}/rollouts/${model}`,
      rewardUrl: `${url}/rollouts/${reward}/reward`,
      apiKey: this.#options.apiKey ?? "none",
      close: () => {
        this.#models.delete(digest(model));
        this.#rewards.delete(digest(reward));
        if (this.#current === app) this.#current = undefined;
      },
    };
  }

  async #listen(): Promise<Listening> {
    const { host = "127.0.0.1", port = 0, apiKey } = this.#options;
    const app = tellErrors(new Hono());
    if (apiKey !== undefined) app.use(requireKey(apiKey));
    const answer = (path: string, find: (token: string) => Hono | undefined) =>
      app.all(path, ({ req }) => {
        const attempt = find(digest(req.param("token") ?? ""));
        if (attempt !== undefined) return attempt.fetch(req.raw);
        throw new LudusError("no-such-rollout", { got: "another address", expected: "that of an attempt under way" });
      });
    for (const version of ["v1", "v1beta"]) {
      answer(`/rollouts/:token/${version}/*`, (token) => this.#models.get(token));
      if (this.isFixed) answer(`/${version}/*`, () => this.#current);
    }
    answer("/rollouts/:token/reward", (token) => this.#rewards.get(token));
    const server = await serveApp(app, { host, port, apiKey });
    server.unref();
    return server;
  }
}

const newToken = () => randomBytes(24).toString("base64url");

/** Looked up by their digests, tokens take the same time however much of one was guessed. */
const digest = (token: string) => createHash("sha256").update(token).digest("base64");
