import { LudusError } from "../errors.ts";
import { type KnownOptions, refuseOtherValue, refuseUnknownOptions } from "../known-options.ts";
import type { Env } from "./env.ts";
import { checkToolNames } from "./serve/env-session.ts";
import { serveHttp } from "./serve/serve-http.ts";
import { serveOpenEnv } from "./serve/serve-open-env.ts";
import { serveStdio } from "./serve/serve-stdio.ts";
import type { ServedEnv, ServeHttpOptions } from "./serve/served-env.ts";

export type ServeEnvOptions = { transport: "stdio" } | ServeHttpOptions;

const knownServeEnvOptions: KnownOptions<ServeEnvOptions> = {
  transport: true,
  port: true,
  host: true,
  idleMs: true,
  maxSessions: true,
  protocol: true,
};

const defaults = { host: "127.0.0.1", idleMs: 30 * 60_000, maxSessions: 1_000, protocol: "mcp" as const };

/**
 * Makes an environment an MCP server, so that any agent that speaks the protocol can be tried and trained in it:
 * `start_episode` gives the first observation, `say` and the environment's own tools act, `finish` tells the score.
 *
 *     const served = await serveEnv(env, { port: 8765 });            // http://127.0.0.1:8765/mcp
 *     await serveEnv(env, { transport: "stdio" });                   // then nothing else may write to stdout
 *     await serveEnv(env, { port: 8000, protocol: "openenv" });      // for clients of OpenEnv
 *
 * Clients of MCP 2025-11-25 have a session each, and an episode at a time. Version 2026-07-28 has no sessions: `start_episode`
 * tells an `episode_id`, which every other tool takes. An episode that outlasts `limits.episodeMs` is ended and closed.
 */
export async function serveEnv<Data, State>(env: Env<Data, State>, options: ServeEnvOptions): Promise<ServedEnv> {
  refuseUnknownOptions("serveEnv", options, knownServeEnvOptions);
  checkToolNames(env as Env);
  if (!("port" in options)) return serveStdio(env as Env, defaults);
  const chosen = { ...defaults, ...options };
  refuseOtherValue("protocol", chosen.protocol, ["mcp", "openenv"]);
  checkSizes(chosen);
  return chosen.protocol === "openenv" ? serveOpenEnv(env as Env, chosen) : serveHttp(env as Env, chosen);
}

/** A timer takes more for 1 ms. */
const longestMs = 2 ** 31 - 1;

function checkSizes({ idleMs, maxSessions }: Required<Pick<ServeHttpOptions, "idleMs" | "maxSessions">>): void {
  const problem = !(idleMs > 0 && idleMs <= longestMs)
    ? { got: `idleMs ${idleMs}`, expected: `more than 0 and at most ${longestMs}` }
    : Number.isInteger(maxSessions) && maxSessions >= 1
      ? undefined
      : { got: `maxSessions ${maxSessions}`, expected: "a whole number of at least 1" };
  if (problem !== undefined) throw new LudusError("bad-config", problem);
}
