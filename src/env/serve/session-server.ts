import { readFileSync } from "node:fs";
import type { Server } from "@modelcontextprotocol/server";
import { defined } from "../../defined.ts";
import type { ToolSpec } from "../../schema/message.ts";
import type { Env } from "../env.ts";
import type { Reply } from "./env-session.ts";

/** Whoever plays: `EnvSession` for a client with a session, `EnvEpisodes` for all that have none. */
export interface Player {
  readonly tools: readonly ToolSpec[];
  call(name: string, args: Readonly<Record<string, unknown>>): Promise<Reply>;
}

/** An MCP server of one connection, or, where there are no sessions, of one request. */
export async function sessionServer(env: Env, player: Player, isStateless: boolean): Promise<Server> {
  const { Server } = await import("@modelcontextprotocol/server");
  const how = isStateless ? "Call start_episode, act with the episode_id that it tells" : "Call start_episode, act";
  const server = new Server(
    { name: `ludus/${env.name}`, version: packageVersion() },
    { capabilities: { tools: {} }, instructions: `${env.description}. ${how}, then call finish.` },
  );
  server.setRequestHandler("tools/list", () => ({
    tools: player.tools.map(({ name, description, parameters }) => {
      return { name, description, inputSchema: { ...parameters, type: "object" as const } };
    }),
  }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { text, isError = false, structured } = await player.call(params.name, params.arguments ?? {});
    const content = [{ type: "text" as const, text }];
    return { content, isError, ...defined({ structuredContent: structured ? { ...structured } : undefined }) };
  });
  return server;
}

function packageVersion(): string {
  // the same number of folders up from src/env/serve and from dist/env/serve
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  return String(version);
}
