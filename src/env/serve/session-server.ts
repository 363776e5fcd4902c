import { readFileSync } from "node:fs";
import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { defined } from "../../defined.ts";
import type { Env } from "../env.ts";
import { EnvSession } from "./env-session.ts";

export interface SessionServer {
  readonly server: Server;
  readonly session: EnvSession;
}

/** An MCP server for one client. */
export async function sessionServer(env: Env): Promise<SessionServer> {
  const { Server } = await import("@modelcontextprotocol/sdk/server/index.js");
  const { CallToolRequestSchema, ListToolsRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
  const session = new EnvSession(env);
  const server = new Server(
    { name: `ludus/${env.name}`, version: packageVersion() },
    { capabilities: { tools: {} }, instructions: `${env.description}. Call start_episode, act, then call finish.` },
  );
  server.setRequestHandler(ListToolsRequestSchema, () => ({
    tools: session.tools.map(({ name, description, parameters }) => {
      return { name, description, inputSchema: { ...parameters, type: "object" as const } };
    }),
  }));
  server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
    const { text, isError = false, structured } = await session.call(params.name, params.arguments ?? {});
    const content = [{ type: "text" as const, text }];
    return { content, isError, ...defined({ structuredContent: structured ? { ...structured } : undefined }) };
  });
  return { server, session };
}

function packageVersion(): string {
  // the same number of folders up from src/env/serve and from dist/env/serve
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
  return String(version);
}
